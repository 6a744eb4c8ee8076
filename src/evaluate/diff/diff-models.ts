import { HalfbyteError } from "../../errors.ts";
import type { OpenModel } from "../../models/open-model.ts";
import type { MatrixSource } from "../../weights/matrix-source.ts";
import { rowsPerChunk } from "../../weights/pack.ts";
import type { Matrix } from "../../weights/quantized-matrix.ts";
import { matrixRowToFloat } from "../../weights/unpack.ts";
import { ValueComparison, type ValueDifference } from "./compare-values.ts";
import { type ModelTensor, modelTensors, rowMap } from "./model-tensors.ts";

/** A tensor as one of the two files has it. */
export interface TensorSide {
  readonly name: string;
  /** [outputs, inputs] or [length]. */
  readonly shape: readonly number[];
  /** "bf16", or "4-bit codes, f16 scales per 32". */
  readonly encoding: string;
  /** Of the file for each value. */
  readonly bits: number;
}

export interface TensorDifference {
  /** What the tensor makes in a step, such as `layers.3.gate`, whatever the files call it. */
  readonly role: string;
  /** Absent where the file has no such tensor. */
  readonly a?: TensorSide;
  readonly b?: TensorSide;
  readonly equal: boolean;
  /** Absent where shapes differ or one is missing. */
  readonly difference?: ValueDifference;
}

export interface ModelDifference {
  readonly equal: boolean;
  /** The most different first: missing ones, other shapes, values that are not finite, then by the root mean square of the difference. */
  readonly tensors: readonly TensorDifference[];
}

export interface DiffOptions {
  readonly signal?: AbortSignal;
  /** Values compared, of A's. */
  readonly onProgress?: (done: number, total: number) => void;
}

/**
 * Compares the weights of two models of an architecture, by what they mean, a few rows at a time: formats, encodings,
 * fused tensors and the order of rows in heads may differ. Throws ERR_ARGUMENT for two architectures.
 */
export async function diffModels(
  a: OpenModel,
  b: OpenModel,
  { signal, onProgress }: DiffOptions = {},
): Promise<ModelDifference> {
  if (a.architecture.name !== b.architecture.name)
    throw new HalfbyteError("ERR_ARGUMENT", "models of different architectures have no tensors in common", {
      expected: a.architecture.name,
      got: b.architecture.name,
    });
  const pairs = pairUp(modelTensors(a.graph), modelTensors(b.graph));
  const total = pairs.reduce((sum, pair) => sum + (pair.a ? valuesOf(a, pair.a) : 0), 0);
  const tensors: TensorDifference[] = [];
  let done = 0;
  for (const pair of pairs) {
    const before = done;
    const report = (values: number): void => {
      signal?.throwIfAborted();
      onProgress?.(before + values, total);
    };
    tensors.push(await comparePair(a, b, pair, report));
    done += pair.a ? valuesOf(a, pair.a) : 0;
  }
  return { equal: tensors.every(({ equal }) => equal), tensors: tensors.toSorted(mostDifferentFirst) };
}

interface Pair {
  readonly role: string;
  readonly a: ModelTensor | undefined;
  readonly b: ModelTensor | undefined;
}

/** By role; a tensor that both models use twice is there once. */
function pairUp(ofA: ReadonlyMap<string, ModelTensor>, ofB: ReadonlyMap<string, ModelTensor>): Pair[] {
  const pairs = new Map<string, Pair>();
  for (const role of new Set([...ofA.keys(), ...ofB.keys()])) {
    const pair = { role, a: ofA.get(role), b: ofB.get(role) };
    const key = JSON.stringify([pair.a?.name, pair.b?.name]);
    if (!pairs.has(key)) pairs.set(key, pair);
  }
  return [...pairs.values()];
}

async function comparePair(
  a: OpenModel,
  b: OpenModel,
  { role, ...pair }: Pair,
  report: (values: number) => void,
): Promise<TensorDifference> {
  const sides = {
    ...(pair.a && { a: side(a, pair.a) }),
    ...(pair.b && { b: side(b, pair.b) }),
  };
  if (!pair.a || !pair.b || String(sides.a!.shape) !== String(sides.b!.shape)) return { role, ...sides, equal: false };
  const map = rowMap(pair.a.headRows, pair.b.headRows);
  const comparison = new ValueComparison();
  if (pair.a.kind === "matrix") {
    const unit = pair.a.headRows?.headSize ?? 1;
    await compareMatrices(a.weights.matrix(pair.a.name), b.weights.matrix(pair.b.name), map, unit, comparison, report);
  } else {
    const [x, y] = await Promise.all([a.weights.vector(pair.a.name), b.weights.vector(pair.b.name)]);
    comparison.add(
      x,
      Float32Array.from(y, (_, n) => y[map(n)]!),
    );
    report(x.length);
  }
  const difference = comparison.result;
  return { role, ...sides, equal: difference.differing === 0, difference };
}

/** `map` keeps rows within each `unit` of them. */
async function compareMatrices(
  a: MatrixSource,
  b: MatrixSource,
  map: (n: number) => number,
  unit: number,
  comparison: ValueComparison,
  report: (values: number) => void,
): Promise<void> {
  const { N, K } = a;
  const step = Math.ceil(Math.min(rowsPerChunk(a), rowsPerChunk(b)) / unit) * unit;
  const x = new Float32Array(K);
  const y = new Float32Array(K);
  for (let first = 0; first < N; first += step) {
    const count = Math.min(step, N - first);
    const [ofA, ofB] = await Promise.all([a.readRows(first, count), b.readRows(first, count)]);
    const [rowOfA, rowOfB] = [rowReader(ofA, a.inputOrder), rowReader(ofB, b.inputOrder)];
    for (let n = 0; n < count; n++) {
      rowOfA(n, x);
      rowOfB(map(first + n) - first, y);
      comparison.add(x, y);
    }
    report((first + count) * K);
  }
}

/** Rows as floats, inputs in their own order. */
function rowReader(matrix: Matrix, inputOrder: Int32Array | undefined): (n: number, out: Float32Array) => void {
  if (!inputOrder) return (n, out) => matrixRowToFloat(matrix, n, out);
  const columns = new Float32Array(matrix.K);
  return (n, out) => {
    matrixRowToFloat(matrix, n, columns);
    for (let j = 0; j < columns.length; j++) out[inputOrder[j]!] = columns[j]!;
  };
}

function valuesOf({ weights }: OpenModel, { kind, name }: ModelTensor): number {
  if (kind === "vector") return weights.vectorLengths.get(name)!;
  const { N, K } = weights.matrix(name);
  return N * K;
}

function side(model: OpenModel, tensor: ModelTensor): TensorSide {
  const { name, kind } = tensor;
  // Vectors are floats in every format, and small: their type in the file makes no difference.
  if (kind === "vector") return { name, shape: [valuesOf(model, tensor)], encoding: "f32", bits: 32 };
  const { N, K, like, rowBytes, inputOrder } = model.weights.matrix(name);
  const encoding = `${describe(like)}${inputOrder ? ", inputs reordered" : ""}`;
  return { name, shape: [N, K], encoding, bits: (8 * rowBytes) / K };
}

function describe(matrix: Matrix): string {
  if (matrix.kind === "float") return matrix.type;
  const { bits, scale, offset, zero, groupSize, codeBook, K } = matrix;
  const extras = [offset && "offsets", typeof zero !== "number" && "zeros", codeBook && "code book"].filter(Boolean);
  const values = [`${scale.kind} scales`, ...extras].join(", ");
  return `${bits}-bit, ${values} per ${groupSize === K ? "output" : groupSize}`;
}

function mostDifferentFirst(x: TensorDifference, y: TensorDifference): number {
  const [ofX, ofY] = [sizeOf(x), sizeOf(y)];
  return ofX === ofY ? 0 : ofY - ofX;
}

/** Values that one side alone has as no numbers are past any distance. */
function sizeOf({ equal, difference }: TensorDifference): number {
  if (!difference) return Number.POSITIVE_INFINITY;
  const { nonFinite, rms } = difference;
  return !equal && nonFinite.a + nonFinite.b > 0 ? Number.POSITIVE_INFINITY : rms;
}
