import { stat } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import { HalfbyteError } from "../errors.ts";
import type { ByteSource } from "../formats/byte-source.ts";
import { type GgufFile, openGgufByName } from "../formats/gguf/open-gguf.ts";
import { openFileSource } from "../formats/node-file-source.ts";
import { type HuggingFaceFolder, openHuggingFaceFolder } from "../formats/safetensors/hugging-face-folder.ts";
import { pull } from "../hub/index.ts";
import type { NamedFile } from "./candidate.ts";

/** Opens a model by reference; what is not on this machine is fetched into the cache. Throws what `pull` and the formats do. */
export async function openReference(reference: string, signal: AbortSignal | undefined): Promise<NamedFile> {
  const { path } = await pull(reference, { environment: process.env, ...(signal && { signal }) });
  return { name: reference, file: await openPath(path) };
}

/** Opens a GGUF file, split or not, or a folder in the layout of the hub. */
export async function openPath(path: string): Promise<GgufFile | HuggingFaceFolder> {
  const isFolder = (await stat(path)).isDirectory();
  const open = (folder: string) => (name: string) => openIfPresent(join(folder, name));
  return isFolder ? openHuggingFaceFolder(open(path), path) : openGgufByName(basename(path), open(dirname(path)));
}

async function openIfPresent(path: string): Promise<ByteSource | undefined> {
  try {
    return await openFileSource(path);
  } catch (error) {
    if (error instanceof HalfbyteError && error.code === "ERR_MISSING") return undefined;
    throw error;
  }
}
