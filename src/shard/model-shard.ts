import { HalfbyteError } from "../errors.ts";
import type { DecoderConfig } from "../models/decoder-config.ts";
import type { OpenModel } from "../models/open-model.ts";
import type { Graph } from "../plan/graph.ts";
import type { MatrixSource } from "../weights/matrix-source.ts";
import { activationGroupSize, type Matrix } from "../weights/quantized-matrix.ts";
import { columnsOfSource, rowsOfSource } from "../weights/slice-matrix.ts";
import { checkRank, type Range, type ShardOptions, shareOfHeads, shareOfUnits } from "./cuts.ts";
import { type Axis, type MatrixRole, matrixRoles } from "./roles.ts";
import { takenRows } from "./take-rows.ts";

/** What one rank has of a model, in numbers of the whole. */
export interface RankShare {
  readonly rank: number;
  readonly of: number;
  readonly heads: Range;
  /** Several ranks have the same where there are fewer than ranks. */
  readonly kvHeads: Range;
  /** Numbers inside the feed-forward parts. */
  readonly inner: Range;
  /** Rows of the embedding and of the output matrix. */
  readonly vocabulary: Range;
}

/** What a rank has of one tensor. */
export interface TensorShare {
  /**
   * column: these outputs; what they give stays in the rank. row: these inputs; what ranks give is added up, and a bias is
   * rank 0's, zeros elsewhere. replicated: all of it, in every rank.
   */
  readonly parallel: MatrixRole["parallel"];
  /** Outputs or inputs of the whole matrix, or elements of the vector, before the cut. */
  readonly total: number;
  readonly first: number;
  readonly end: number;
  /**
   * Where the rank's outputs or inputs are no run of the whole's (the inner numbers of a checkpoint with act-order): which
   * they are, in the rank's order. `first` and `end` then count in that order.
   */
  readonly taken?: Int32Array;
}

/** One rank of a model that several machines or processes share (tensor parallelism): its weights, and what to do with them. */
export interface ModelShard {
  readonly architecture: string;
  /** Of the whole model. */
  readonly config: DecoderConfig;
  readonly share: RankShare;
  /**
   * One step of this rank, its values as wide as they are here. Ranks must add up what the embedding and each row-parallel
   * matrix gives before the next op reads it, and put their logits side by side.
   */
  readonly graph: Graph;
  /** By name, as in the model's file. */
  readonly tensors: ReadonlyMap<string, TensorShare>;
  readonly notes: readonly string[];
  /** Throws ERR_MISSING for a name that is no matrix of the shard. */
  matrix(name: string): MatrixSource;
  /** A norm's weights or a bias as f32. Throws ERR_MISSING for a name that is no vector of the shard. */
  vector(name: string): Promise<Float32Array>;
}

/**
 * One rank's share of a model whose file is open. No weight is read before its rows are asked for.
 *
 * Throws ERR_ARGUMENT for a rank that is none, ERR_UNSUPPORTED where heads or groups cannot be shared by so many ranks.
 */
export function modelShard(model: OpenModel, shard: ShardOptions): ModelShard {
  checkRank(shard);
  const { config, weights, graph } = model;
  const roles = matrixRoles(graph);
  const { rank, of } = shard;
  const share: RankShare = {
    rank,
    of,
    ...shareOfHeads(config.heads, config.kvHeads, shard),
    inner: shareOfUnits(config.innerSize, innerUnits(model, roles), shard, "inner numbers"),
    vocabulary: shareOfUnits(config.vocabularySize, [VOCABULARY_UNIT, 1], shard, "tokens"),
  };
  const ranges: Record<Axis, Range> = {
    query: timesHeadSize(share.heads, config.headSize),
    key: timesHeadSize(share.kvHeads, config.headSize),
    head: share.heads,
    inner: share.inner,
    vocabulary: share.vocabulary,
  };
  const tensors = new Map<string, TensorShare>();
  const matrices = new Map<string, MatrixSource>();
  for (const [name, role] of roles) {
    const source = weights.matrix(name);
    const reader = role.readBy === undefined ? undefined : weights.matrix(role.readBy);
    const cut = tensorShare(source, role, role.axis && ranges[role.axis], reader);
    tensors.set(name, cut);
    matrices.set(name, cutMatrix(source, cut));
    if (role.bias === undefined) continue;
    if (role.parallel === "row")
      tensors.set(role.bias, { ...whole(source.N), parallel: "row", end: rank === 0 ? source.N : 0 });
    else tensors.set(role.bias, cut);
  }
  for (const op of graph.ops) if (op.op === "norm") tensors.set(op.weight, whole(op.input.width / op.heads));

  const absent = (name: string): never => {
    throw new HalfbyteError("ERR_MISSING", "the shard has no such tensor", { place: name });
  };
  return {
    architecture: model.architecture.name,
    config,
    share,
    graph: model.architecture.graph(rankConfig(config, share), model.names),
    tensors,
    notes: model.notes,
    matrix: (name) => matrices.get(name) ?? absent(name),
    async vector(name) {
      const cut = tensors.get(name);
      if (!cut || matrices.has(name)) return absent(name);
      const all = await weights.vector(name);
      if (cut.parallel === "row" && cut.end === 0) return new Float32Array(cut.total);
      return cut.taken ? Float32Array.from(cut.taken, (i) => all[i]!) : all.slice(cut.first, cut.end);
    },
  };
}

/** The configuration with the sizes that it has in one rank. */
export function rankConfig(whole: DecoderConfig, { heads, kvHeads, inner, vocabulary }: RankShare): DecoderConfig {
  const size = ({ first, end }: Range): number => end - first;
  return {
    ...whole,
    heads: size(heads),
    kvHeads: size(kvHeads),
    innerSize: size(inner),
    vocabularySize: size(vocabulary),
  };
}

/** Outputs of a block of the packed layout: no rank then pads more than the whole does. */
const VOCABULARY_UNIT = 16;

function timesHeadSize({ first, end }: Range, headSize: number): Range {
  return { first: first * headSize, end: end * headSize };
}

function whole(total: number): TensorShare {
  return { parallel: "replicated", total, first: 0, end: total };
}

/** Where inner numbers may be cut, best first: between groups and activations' groups, between groups, in groups. */
function innerUnits({ weights }: OpenModel, roles: ReadonlyMap<string, MatrixRole>): number[] {
  let [best, groups] = [16, 16];
  for (const [name, { parallel, axis }] of roles) {
    if (parallel !== "row" || axis !== "inner") continue;
    const { like, K } = weights.matrix(name);
    best = commonMultiple(best, unitOf(like, K));
    groups = commonMultiple(groups, like.kind === "quantized" && like.groupSize < K ? like.groupSize : 1);
  }
  return [best, groups, 16];
}

function unitOf(like: Matrix, K: number): number {
  if (like.kind === "float") return 1;
  const superSize = "superSize" in like.scale ? like.scale.superSize : 1;
  const group = like.groupSize < K ? like.groupSize : 1;
  return Math.max(superSize, group, activationGroupSize(like.groupSize, K));
}

function commonMultiple(a: number, b: number): number {
  let [x, y] = [a, b];
  while (y) [x, y] = [y, x % y];
  return (a / x) * b;
}

function tensorShare(
  source: MatrixSource,
  { parallel, axis }: MatrixRole,
  range: Range | undefined,
  reader: MatrixSource | undefined,
): TensorShare {
  if (parallel === "replicated" || !range) return whole(source.N);
  if (parallel === "row" && axis !== "inner") return { parallel, total: source.K, ...range };
  // The reader's groups are runs of its columns, not of its inputs: they are cut there, and what feeds it follows.
  const order = (parallel === "column" ? reader : source)?.inputOrder;
  const total = parallel === "column" ? source.N : source.K;
  return { parallel, total, ...range, ...(order && { taken: order.slice(range.first, range.end) }) };
}

function cutMatrix(source: MatrixSource, { parallel, first, end, taken }: TensorShare): MatrixSource {
  if (parallel === "replicated") return source;
  if (parallel === "column") return taken ? takenRows(source, taken) : rowsOfSource(source, first, end);
  if (taken || !source.inputOrder) return columnsOfSource(source, first, end);
  return columnsOfInputs(source, source.inputOrder, first, end);
}

/** The columns of inputs `first … end − 1`, where these are a run of groups. Throws ERR_UNSUPPORTED where they are not. */
function columnsOfInputs(source: MatrixSource, order: Int32Array, first: number, end: number): MatrixSource {
  const start = order.findIndex((input) => input >= first && input < end);
  const inputs = order.subarray(start, start + end - first);
  if (inputs.length < end - first || inputs.some((input) => input < first || input >= end))
    throw new HalfbyteError("ERR_UNSUPPORTED", "inputs that share a group stand in different ranks (act-order)", {
      place: source.name,
      expected: `groups that have inputs ${first} to ${end - 1} to themselves`,
      remedy: "the inputs are attention heads, which cannot move; quantise without act-order, or run unsharded",
    });
  return { ...columnsOfSource(source, start, start + end - first), inputOrder: inputs.map((input) => input - first) };
}
