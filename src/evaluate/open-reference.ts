import { openPath } from "../formats/node-open-path.ts";
import { pull } from "../hub/index.ts";
import type { NamedFile } from "./candidate.ts";

/** Opens a model by reference; what is not on this machine is fetched into the cache. Throws what `pull` and the formats do. */
export async function openReference(reference: string, signal: AbortSignal | undefined): Promise<NamedFile> {
  const { path } = await pull(reference, { environment: process.env, ...(signal && { signal }) });
  return { name: reference, file: await openPath(path) };
}
