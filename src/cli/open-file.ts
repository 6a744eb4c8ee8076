import { stat } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import { HalfbyteError } from "../errors.ts";
import type { ByteSource } from "../formats/byte-source.ts";
import { type GgufFile, openGguf, openGgufByName } from "../formats/gguf/open-gguf.ts";
import { openHttpSource } from "../formats/http-source.ts";
import { openFileSource } from "../formats/node-file-source.ts";
import { type HuggingFaceFolder, openHuggingFaceFolder } from "../formats/safetensors/hugging-face-folder.ts";
import { ALIASES } from "../hub/aliases.ts";
import { resolveModel } from "../hub/index.ts";
import { parseReference } from "../hub/reference.ts";

export interface OpenedFile {
  /** The path or URL that was opened. */
  readonly place: string;
  readonly file: GgufFile | HuggingFaceFolder;
}

/**
 * Opens a model on this machine, or a GGUF file at a URL by ranges, without fetching it. Throws ERR_UNKNOWN_MODEL for
 * one that would have to be pulled first, and what the formats throw.
 */
export async function openModelFile(reference: string): Promise<OpenedFile> {
  const place = await resolveModel(reference);
  if (place !== undefined) return { place, file: await openPath(place) };
  if (/^https?:.*\.gguf(\?|#|$)/i.test(reference)) {
    const source = await openHttpSource(new URL(reference));
    return { place: source.name, file: await closedOnFailure(source) };
  }
  const path = parseReference(reference, ALIASES);
  if (path?.kind === "path")
    throw new HalfbyteError("ERR_MISSING", "there is no such file or folder", { place: path.path });
  throw new HalfbyteError("ERR_UNKNOWN_MODEL", "not on this machine", {
    place: JSON.stringify(reference.slice(0, 200)),
    remedy: "halfbyte pull fetches it; halfbyte list shows what is here",
  });
}

async function openPath(path: string): Promise<GgufFile | HuggingFaceFolder> {
  const isFolder = (await stat(path)).isDirectory();
  const open = (folder: string) => (name: string) => openIfPresent(join(folder, name));
  return isFolder ? openHuggingFaceFolder(open(path), path) : openGgufByName(basename(path), open(dirname(path)));
}

async function closedOnFailure(source: ByteSource): Promise<GgufFile> {
  try {
    return await openGguf(source);
  } catch (error) {
    await source.close();
    throw error;
  }
}

async function openIfPresent(path: string): Promise<ByteSource | undefined> {
  try {
    return await openFileSource(path);
  } catch (error) {
    if (error instanceof HalfbyteError && error.code === "ERR_MISSING") return undefined;
    throw error;
  }
}
