import { HalfbyteError } from "../errors.ts";
import { safetensorsMatrix } from "../formats/read-tensor.ts";
import type { HuggingFaceFolder } from "../formats/safetensors/hugging-face-folder.ts";
import { openCheckpoint } from "../models/checkpoint.ts";
import { ConfigReader } from "../models/config-reader.ts";
import { Notes } from "../models/notes.ts";
import { OTHER_FILES } from "./model-files.ts";
import { vectorSource } from "./outgoing.ts";
import type { FolderItem, WeightChanges } from "./plan-folder.ts";
import type { OtherFile } from "./write-folder.ts";

const FLOATS = ["F32", "F16", "BF16"];

/** Everything a folder has, whether Halfbyte could run it or not, under the names it has there. */
export async function folderItems(
  folder: HuggingFaceFolder,
  changes?: WeightChanges,
): Promise<{ items: FolderItem[]; notes: Notes }> {
  const notes = new Notes();
  const { config } = folder;
  const reader = new ConfigReader("config.json", (key) => (Object.hasOwn(config, key) ? config[key] : undefined));
  const { plain, quantized } = await openCheckpoint(folder, reader, notes);
  const items: FolderItem[] = [];
  const seen = new Set<string>();
  for (const [name, tensor] of folder.tensors) {
    if (plain.has(name)) {
      const { dtype, shape, byteLength } = tensor;
      const vector = shape.length === 1 ? changes?.vector(name) : undefined;
      const isFloat = FLOATS.includes(dtype) && byteLength > 0 && shape.length > 0;
      if (vector) items.push({ name, matrix: vectorSource(name, vector), shape });
      else if (!isFloat) items.push({ name, copy: tensor });
      else {
        const matrix = safetensorsMatrix(tensor);
        items.push({ name, matrix: shape.length === 2 && changes ? changes.matrix(matrix) : matrix, shape });
      }
      continue;
    }
    const stem = stemOf(name, quantized);
    if (stem === undefined || seen.has(stem)) continue;
    seen.add(stem);
    const matrix = quantized.get(stem)!;
    if (matrix instanceof HalfbyteError) throw matrix;
    items.push({ name: `${stem}.weight`, matrix: changes ? changes.matrix(matrix) : matrix });
  }
  return { items, notes };
}

/** Parts of a quantised matrix end in one more word. */
function stemOf(name: string, quantized: ReadonlyMap<string, unknown>): string | undefined {
  const stem = name.slice(0, name.lastIndexOf("."));
  return quantized.has(stem) ? stem : undefined;
}

/** Tokenizer, chat template and the like, as they are. */
export async function otherFiles(folder: HuggingFaceFolder): Promise<Map<string, OtherFile>> {
  const files = new Map<string, OtherFile>();
  for (const name of OTHER_FILES) {
    const bytes = await folder.bytes(name);
    if (bytes) files.set(name, bytes);
  }
  return files;
}
