import { MANIFEST_FILE } from "../convert/model-files.ts";
import { HalfbyteError } from "../errors.ts";
import { isJsonObject, type JsonObject } from "../formats/json.ts";
import { ConfigReader } from "../models/config-reader.ts";
import { checkRank, type Range } from "./cuts.ts";
import type { ModelShard, RankShare, TensorShare } from "./model-shard.ts";

const VERSION = 1;
const AXES = ["heads", "kvHeads", "inner", "vocabulary"] as const;
const PARALLEL = ["column", "row", "replicated"] as const;

export interface Manifest {
  readonly share: RankShare;
  readonly tensors: ReadonlyMap<string, TensorShare>;
}

/** As JSON: `{ version, architecture, share, tensors }`, where `taken` is a list. */
export function manifestJson({ architecture, share, tensors }: ModelShard): JsonObject {
  const entries = [...tensors].map(([name, { taken, ...cut }]) => [name, taken ? { ...cut, taken: [...taken] } : cut]);
  return { version: VERSION, architecture, share: { ...share }, tensors: Object.fromEntries(entries) };
}

/** Throws ERR_FORMAT, ERR_MISSING or ERR_UNSUPPORTED, with the key as the place, for what is no manifest of a rank. */
export function readManifest(json: unknown): Manifest {
  if (!isJsonObject(json)) throw new HalfbyteError("ERR_FORMAT", "not an object", { place: MANIFEST_FILE });
  const reader = new ConfigReader(MANIFEST_FILE, (key) => (Object.hasOwn(json, key) ? json[key] : undefined));
  if (reader.raw("version") !== VERSION) throw reader.unsupported("version", "shards written in this way");
  const { share } = json;
  if (!isJsonObject(share)) throw new HalfbyteError("ERR_FORMAT", "not an object", { place: reader.place("share") });
  const rank = { rank: share.rank as number, of: share.of as number };
  checkRank(rank);
  const range = (key: (typeof AXES)[number]): Range => {
    const value = share[key];
    if (isJsonObject(value) && isRange(value)) return { first: value.first, end: value.end };
    throw new HalfbyteError("ERR_FORMAT", "not a range", { place: `${reader.place("share")}, ${key}` });
  };
  const [heads, kvHeads, inner, vocabulary] = AXES.map(range) as [Range, Range, Range, Range];
  const all = isJsonObject(json.tensors) ? json.tensors : {};
  const tensors = new Map(Object.entries(all).map(([name, value]) => [name, tensorShare(name, value)]));
  return { share: { ...rank, heads, kvHeads, inner, vocabulary }, tensors };
}

function isRange(value: JsonObject): value is JsonObject & Range {
  const { first, end } = value;
  return Number.isSafeInteger(first) && Number.isSafeInteger(end) && 0 <= (first as number) && first! < end!;
}

function tensorShare(name: string, value: unknown): TensorShare {
  const entry = isJsonObject(value) ? value : {};
  const { first, end, total, taken } = entry;
  const parallel = PARALLEL.find((each) => each === entry.parallel);
  const whole = (number: unknown): number | undefined =>
    Number.isSafeInteger(number) && (number as number) >= 0 ? (number as number) : undefined;
  const [start, stop, of] = [whole(first), whole(end), whole(total)];
  const inside = (i: unknown): boolean => whole(i) !== undefined && (i as number) < of!;
  const good = start !== undefined && stop !== undefined && of !== undefined && start <= stop && stop <= of;
  const order = Array.isArray(taken) ? taken : undefined;
  if (parallel && good && (taken === undefined || (order?.length === stop - start && order.every(inside))))
    return { parallel, total: of, first: start, end: stop, ...(order && { taken: Int32Array.from(order) }) };
  throw new HalfbyteError("ERR_FORMAT", "not a share of a tensor", {
    place: `${MANIFEST_FILE}, ${name.slice(0, 200)}`,
  });
}
