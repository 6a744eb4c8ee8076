import { HalfbyteError } from "../errors.ts";
import type { ByteSource } from "../formats/byte-source.ts";
import { type GgufFile, openGguf } from "../formats/gguf/open-gguf.ts";
import { openHttpSource } from "../formats/http-source.ts";
import { openPath } from "../formats/node-open-path.ts";
import type { HuggingFaceFolder } from "../formats/safetensors/hugging-face-folder.ts";
import { ALIASES } from "./aliases.ts";
import { resolveModel } from "./index.ts";
import { parseReference } from "./reference.ts";

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

async function closedOnFailure(source: ByteSource): Promise<GgufFile> {
  try {
    return await openGguf(source);
  } catch (error) {
    await source.close();
    throw error;
  }
}
