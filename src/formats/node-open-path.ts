import { stat } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import { type GgufFile, openGgufByName } from "./gguf/open-gguf.ts";
import { openFileIfPresent } from "./node-file-source.ts";
import { type HuggingFaceFolder, openHuggingFaceFolder } from "./safetensors/hugging-face-folder.ts";

/** Opens a GGUF file, split or not, or a folder in the layout of the hub. */
export async function openPath(path: string): Promise<GgufFile | HuggingFaceFolder> {
  const isFolder = (await stat(path)).isDirectory();
  const open = (folder: string) => (name: string) => openFileIfPresent(join(folder, name));
  return isFolder ? openHuggingFaceFolder(open(path), path) : openGgufByName(basename(path), open(dirname(path)));
}
