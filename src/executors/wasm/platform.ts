import type { SpawnThread } from "./compute-pool.ts";

/** What differs between Node and browsers. */
export interface Platform {
  /** Threads to compute with when the caller does not say. */
  defaultThreads(): number;
  compile(binary: URL): Promise<WebAssembly.Module>;
  readonly spawnThread: SpawnThread;
}

export async function currentPlatform(): Promise<Platform> {
  const inNode = typeof process !== "undefined" && process.versions?.node;
  return inNode ? (await import("./node-platform.ts")).nodePlatform : (await import("./web-platform.ts")).webPlatform;
}
