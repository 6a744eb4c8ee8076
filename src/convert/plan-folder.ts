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
  readonly notes: readonly string[];
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
  const kept: string[] = [];
  const shortened: string[] = [];
  const withNaN = new Set<string>();
  const total = items.reduce((sum, item) => sum + bytesOf(item), 0);
  let done = 0;
  for (const item of items) {
    const { name } = item;
    const stem = name.replace(/\.weight$/, "");
    const encoded = encoding && (await encodedItem(item, encoding, options, rounded));
    if (encoded) {
      quantized.set(stem, encoded.form);
      outgoing.push(encodedTensors(stem, encoded.source, encoded.form));
    } else {
      if (isLinear(item) && !isEmbedding(stem)) floats.push(stem);
      const before = rounded.length;
      outgoing.push(await floatItem(item, target, options, rounded, withNaN));
      if (isQuantized(item) && encoding) (rounded.length > before ? shortened : kept).push(stem);
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
  const notes = kept.length > 0 ? [`floats, since ${target} has no place for it as it is: ${kept.join(", ")}`] : [];
  if (shortened.length > 0)
    notes.push(`floats that are rounded, since ${target} has no place for it as it is: ${shortened.join(", ")}`);
  return { outgoing, quantization, rounded, notes: [...notes, ...nanNotes(withNaN)] };
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

function isQuantized(item: FolderItem): item is Extract<FolderItem, { matrix: MatrixSource }> {
  return "matrix" in item && item.matrix.like.kind === "quantized";
}

/**
 * A quantised matrix in an encoding; undefined for one that goes as floats: those that are, and embeddings and outputs that
 * the encoding does not hold, which all readers take as floats.
 */
async function encodedItem(
  item: FolderItem,
  encoding: FolderEncoding,
  { lossy, signal }: PlanOptions,
  rounded: string[],
): Promise<{ source: MatrixSource; form: FolderForm } | undefined> {
  const stem = item.name.replace(/\.weight$/, "");
  if (!isQuantized(item) || !hasPlace(stem, encoding)) return undefined;
  const source = item.matrix;
  const vouched = vouchedForm(source);
  if (vouched) return { source, form: declaredForm(source, encoding, vouched) };
  try {
    return { source, form: await folderForm(source, encoding, signal) };
  } catch (error) {
    if (!isRefusal(error)) throw error;
    if (isEmbedding(stem) || isOutput(stem)) return undefined;
    if (!lossy) throw error;
    rounded.push(source.name);
    return nearest(source, encoding, error);
  }
}

/** A tensor that is not quantised in the folder: in the first type that has every weight, or in the target's. */
async function floatItem(
  item: FolderItem,
  target: FolderTarget,
  { lossy, signal }: PlanOptions,
  rounded: string[],
  withNaN: Set<string>,
): Promise<Outgoing<SafetensorsHeader>> {
  if ("copy" in item) return copiedTensor(item.copy);
  const { name, matrix, shape } = item;
  const asked = target === "f16" || target === "bf16" || target === "f32" ? target : undefined;
  const short = asked ?? (target === "cpu_int4" ? "bf16" : "f16");
  let type: FloatType | undefined;
  try {
    type = await exactFloatType(matrix, asked ? [asked] : FLOATS, signal, withNaN);
  } catch (error) {
    if (!lossy || !isRefusal(error)) throw error;
  }
  // What would be exact in f32 alone was quantised, and is not worth its size to one who lets it be rounded.
  const isShortened = lossy && (type === undefined || (type === "f32" && isQuantized(item) && asked === undefined));
  if (isShortened) rounded.push(matrix.name);
  return floatTensor(name, matrix, isShortened ? short : type!, shape);
}

/** What is wrong with a model whatever its encoding is. */
export function nanNotes(names: ReadonlySet<string>): string[] {
  return names.size > 0 ? [`weights that are NaN, and stay so: ${[...names].join(", ")}`] : [];
}

export function isRefusal(error: unknown): error is HalfbyteError {
  return error instanceof HalfbyteError && error.code === "ERR_UNSUPPORTED";
}
