import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";

export interface BenchServer {
  readonly name: string;
  readonly url: string;
  /** Resident memory now, where the system tells. */
  memoryBytes(): number | undefined;
  stop(): Promise<void>;
}

const here = (path: string): string => fileURLToPath(new URL(path, import.meta.url));

export interface ServerSettings {
  readonly modelPath: string;
  readonly slots: number;
  readonly threads: number;
  /** Tokens that one answer and its prompt may have. */
  readonly contextLength: number;
}

export function startHalfbyte({ modelPath, slots, threads, contextLength }: ServerSettings): Promise<BenchServer> {
  const options = { "max-sequences": slots, threads, context: contextLength, "cache-tokens": slots * contextLength };
  const flags = Object.entries(options).flatMap(([name, value]) => [`--${name}`, String(value)]);
  return start("halfbyte", [
    here("../../dist/cli/main.js"),
    "serve",
    `bench=${modelPath}`,
    "--port",
    "0",
    "--log",
    "off",
    ...flags,
  ]);
}

export function startNodeLlamaCpp({ modelPath, slots, threads, contextLength }: ServerSettings): Promise<BenchServer> {
  const numbers = [slots, threads, contextLength].map(String);
  return start("node-llama-cpp", [here("./node-llama-cpp-server.mjs"), modelPath, ...numbers]);
}

/** Starts a server that prints its address. */
async function start(name: string, args: readonly string[]): Promise<BenchServer> {
  const child = spawn(process.execPath, args, { stdio: ["ignore", "pipe", "inherit"] });
  const url = await Promise.race([addressOf(child), once(child, "close").then(() => undefined)]);
  if (!url) throw new Error(`${name} did not start`);
  return {
    name,
    url,
    memoryBytes: () => residentBytes(child.pid!),
    async stop() {
      if (child.exitCode !== null) return;
      child.kill("SIGTERM");
      await once(child, "close");
    },
  };
}

async function addressOf({ stdout }: ChildProcess): Promise<string | undefined> {
  let text = "";
  for await (const chunk of stdout!.setEncoding("utf8")) {
    text += chunk;
    const url = /http:\/\/[\d.]+:\d+/.exec(text)?.[0];
    if (url) {
      stdout!.resume();
      return url;
    }
  }
  return undefined;
}

/** A server that somebody else has started. */
export function running(name: string, url: string): BenchServer {
  return { name, url: url.replace(/\/$/, ""), memoryBytes: () => undefined, stop: async () => {} };
}

function residentBytes(pid: number): number | undefined {
  try {
    const kilobytes = /^VmRSS:\s*(\d+)/m.exec(readFileSync(`/proc/${pid}/status`, "utf8"))?.[1];
    return kilobytes === undefined ? undefined : Number(kilobytes) * 1024;
  } catch {
    return undefined;
  }
}
