import { HalfbyteError } from "../errors.ts";
import type { WeightSet } from "../executors/executor.ts";
import type { Graph } from "../plan/graph.ts";
import type { MatrixSource } from "../weights/matrix-source.ts";
import { type PackedLayout, packedLayout } from "../weights/packed-layout.ts";

/** Tensors of a model's file, by the file's own names. */
export interface TensorStore {
  /** The file, for messages. */
  readonly place: string;
  readonly names: readonly string[];
  /** Undefined where there is none; throws a typed error for one that is no matrix or of a type that cannot be read. */
  matrix(name: string): MatrixSource | undefined;
  /** Elements of a tensor of one dimension; undefined where there is none. */
  vectorLength(name: string): number | undefined;
  /** A tensor of one dimension as f32, read now. */
  vector(name: string, role: VectorRole): Promise<Float32Array>;
}

/** Norm weights may stand in a file otherwise than they are used. */
export type VectorRole = "norm" | "bias";

/** What a model needs of its file: the weights its graph names, and their layouts and lengths. */
export interface ModelWeights extends WeightSet {
  readonly layouts: ReadonlyMap<string, PackedLayout>;
  readonly vectorLengths: ReadonlyMap<string, number>;
  /** Names in the file that the model has no use for. */
  readonly unused: readonly string[];
}

/** What rotary tables are made from, or were once: no weights of a step. */
const ANGLES = /(^|\.)(rotary_emb\.inv_freq|rope_freqs\.weight|attn_rot_embd\.weight)$/;
/** A layer of the model, in the names of either format. */
const IN_LAYER = /^(blk|model\.layers|language_model\.model\.layers|model\.language_model\.layers)\.\d+\./;

/**
 * Finds every weight a graph names. Throws ERR_MISSING for one that is not in the file, and ERR_UNSUPPORTED for a tensor
 * of a layer that the graph does not name: a step without it would give other answers than the model's.
 */
export function modelWeights(graph: Graph, store: TensorStore): ModelWeights {
  const matrices = new Map<string, MatrixSource>();
  const layouts = new Map<string, PackedLayout>();
  const vectorLengths = new Map<string, number>();
  const roles = new Map<string, VectorRole>();

  const needMatrix = (name: string): void => {
    if (matrices.has(name)) return;
    const source = store.matrix(name) ?? missing(name);
    matrices.set(name, source);
    layouts.set(name, packedLayout(source.like, source.N, name, source.inputOrder));
  };
  const needVector = (name: string, role: VectorRole): void => {
    vectorLengths.set(name, store.vectorLength(name) ?? missing(name));
    roles.set(name, role);
  };
  const missing = (name: string): never => {
    throw new HalfbyteError("ERR_MISSING", "the model needs this tensor", { place: `${store.place}, ${name}` });
  };

  for (const op of graph.ops) {
    if (op.op === "embed" || op.op === "linear") needMatrix(op.weight);
    if (op.op === "linear" && op.bias !== undefined) needVector(op.bias, "bias");
    if (op.op === "norm") needVector(op.weight, "norm");
  }
  const used = (name: string): boolean => matrices.has(name) || roles.has(name) || ANGLES.test(name);
  const unused = store.names.filter((name) => !used(name));
  for (const name of unused) {
    if (!IN_LAYER.test(name)) continue;
    throw new HalfbyteError("ERR_UNSUPPORTED", "a layer has a tensor that its architecture has no place for", {
      place: `${store.place}, ${name}`,
      remedy: "the file and its architecture do not fit, or Halfbyte does not know this variant",
    });
  }
  return {
    layouts,
    vectorLengths,
    unused,
    matrix: (name) => matrices.get(name) ?? missing(name),
    vector: (name) => store.vector(name, roles.get(name) ?? missing(name)),
  };
}

export function notAVector({ name, shape }: { name: string; shape: readonly number[] }): HalfbyteError {
  return new HalfbyteError("ERR_SHAPE", "not a vector", { place: name, got: `[${shape}]` });
}
