import { HalfbyteError } from "../errors.ts";
import type { SafetensorsTensor } from "../formats/safetensors/open-safetensors.ts";
import type { MatrixSource } from "../weights/matrix-source.ts";
import type { FloatType } from "../weights/quantized-matrix.ts";
import { encodedTensors } from "./encoded-tensors.ts";
import {
  declaredForm,
  FOLDER_ENCODINGS,
  type FolderEncoding,
  type FolderForm,
  folderForm,
  vouchedForm,
} from "./folder-form.ts";
import { nearest } from "./nearest.ts";
import { copiedTensor, exactFloatType, floatTensor } from "./outgoing.ts";
import { isEmbedding, isOutput, quantizationConfig } from "./quantization-config.ts";
import type { Outgoing, SafetensorsHeader } from "./writer.ts";

/** What a folder can be written in: an encoding for what is quantised, floats staying what they are, or floats alone. */
export type FolderTarget = FolderEncoding | FloatType;

/** A tensor for a folder, by its name there. */
export type FolderItem =
  /** Floats or quantised; `shape` where it is no matrix. */
  | { readonly name: string; readonly matrix: MatrixSource; readonly shape?: readonly number[] }
  /** Other numbers, which stay as they are. */
  | { readonly name: string; readonly copy: SafetensorsTensor };

/** Takes the place of weights on their way; names are those of the file that is read. */
export interface WeightChanges {
  /** The matrix, or another in its place: one with `vouched` is not looked at before it is written. */
  matrix(source: MatrixSource): MatrixSource;
  /** A vector as a step uses it, where it is another now. */
  vector(name: string): Float32Array | undefined;
}

export interface PlanOptions {
  readonly changes?: WeightChanges | undefined;
  /** Matrices that cannot be held exactly are rounded in place of refused. */
  readonly lossy?: boolean | undefined;
  readonly signal?: AbortSignal | undefined;
  /** Bytes of matrices looked at, and of all there are to look at. */
  readonly onProgress?: ((done: number, total: number) => void) | undefined;
}

export interface FolderPlan {
  readonly outgoing: readonly Outgoing<SafetensorsHeader>[];
  /** For config.json; absent where nothing is quantised. */
  readonly quantization: Record<string, unknown> | undefined;
  /** Names of matrices that lose something. */
  readonly rounded: readonly string[];
}

/** Floats that a matrix is written as where its encoding has no place for it; the first that holds it. */
const FLOATS: readonly FloatType[] = ["bf16", "f16", "f32"];

/**
 * Looks at every weight and chooses what each tensor becomes; nothing is written yet. Throws ERR_UNSUPPORTED, with the first
 * tensor as the place, where the target cannot hold one exactly.
 */
export async function planFolder(
  items: readonly FolderItem[],
  target: FolderTarget,
  options: PlanOptions = {},
): Promise<FolderPlan> {
  const { signal, onProgress } = options;
  const encoding = FOLDER_ENCODINGS.find((each) => each === target);
  const outgoing: Outgoing<SafetensorsHeader>[] = [];
  const quantized = new Map<string, FolderForm>();
  const floats: string[] = [];
  const rounded: string[] = [];
  const total = items.reduce((sum, item) => sum + bytesOf(item), 0);
  let done = 0;
  for (const item of items) {
    const { name } = item;
    const stem = name.replace(/\.weight$/, "");
    if (encoding && "matrix" in item && item.matrix.like.kind === "quantized" && hasPlace(stem, encoding)) {
      const [source, form] = await encodable(item.matrix, encoding, options, rounded);
      quantized.set(stem, form);
      outgoing.push(encodedTensors(stem, source, form));
    } else {
      if (isLinear(item) && !isEmbedding(stem)) floats.push(stem);
      outgoing.push(await floatItem(item, encoding ? undefined : (target as FloatType), options, rounded));
    }
    done += bytesOf(item);
    onProgress?.(done, total);
    signal?.throwIfAborted();
  }
  const names = { quantized, floats: floats.includes("lm_head") ? floats : withOutput(floats, quantized) };
  const quantization = encoding && quantized.size > 0 ? quantizationConfig(encoding, names) : undefined;
  if (encoding && !quantization)
    throw new HalfbyteError("ERR_UNSUPPORTED", `nothing here is quantised, so that nothing becomes ${encoding}`, {
      remedy: "halfbyte quantize makes 4-bit weights of floats",
    });
  return { outgoing, quantization, rounded };
}

/** Readers go over all linear modules of a model, and a tied output is one without tensors of its own. */
function withOutput(floats: readonly string[], quantized: ReadonlyMap<string, FolderForm>): readonly string[] {
  return [...quantized.keys()].some(isOutput) ? floats : [...floats, "lm_head"];
}

/** GPTQ and AWQ know no quantised embedding, and AWQ no quantised output. */
function hasPlace(stem: string, encoding: FolderEncoding): boolean {
  if (encoding === "cpu_int4" || encoding === "compressed-tensors") return true;
  return !isEmbedding(stem) && !(encoding === "awq" && isOutput(stem));
}

function isLinear(item: FolderItem): boolean {
  return "matrix" in item && item.name.endsWith(".weight") && (item.shape?.length ?? 2) === 2;
}

function bytesOf(item: FolderItem): number {
  return "matrix" in item ? item.matrix.N * item.matrix.rowBytes : 0;
}

async function encodable(
  source: MatrixSource,
  encoding: FolderEncoding,
  { lossy, signal }: PlanOptions,
  rounded: string[],
): Promise<[MatrixSource, FolderForm]> {
  const vouched = vouchedForm(source);
  if (vouched) return [source, declaredForm(source, encoding, vouched)];
  try {
    return [source, await folderForm(source, encoding, signal)];
  } catch (error) {
    if (!lossy || !isRefusal(error)) throw error;
    rounded.push(source.name);
    return nearest(source, encoding, error);
  }
}

/** A tensor that is not quantised in the folder: as it is, or of one type. */
async function floatItem(
  item: FolderItem,
  type: FloatType | undefined,
  { lossy, signal }: PlanOptions,
  rounded: string[],
): Promise<Outgoing<SafetensorsHeader>> {
  if ("copy" in item) return copiedTensor(item.copy);
  const { name, matrix, shape } = item;
  try {
    return floatTensor(name, matrix, await exactFloatType(matrix, type ? [type] : FLOATS, signal), shape);
  } catch (error) {
    if (!lossy || !isRefusal(error)) throw error;
    rounded.push(name);
    return floatTensor(name, matrix, type!, shape);
  }
}

export function isRefusal(error: unknown): error is HalfbyteError {
  return error instanceof HalfbyteError && error.code === "ERR_UNSUPPORTED";
}
