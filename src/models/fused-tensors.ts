import { HalfbyteError } from "../errors.ts";
import type { MatrixSource } from "../weights/matrix-source.ts";
import { rowsOfSource } from "../weights/slice-matrix.ts";
import type { DecoderConfig } from "./decoder-config.ts";
import type { TensorStore } from "./model-weights.ts";
import type { DecoderNames } from "./tensor-names.ts";

/** Rows of a fused tensor that stand for a tensor of their own. */
interface Part {
  /** Stem of the fused tensor. */
  readonly of: string;
  readonly first: number;
  readonly end: number;
  /** Rows that the fused tensor must have. */
  readonly total: number;
}

/**
 * A store in which q, k and v, or gate and up, stand by themselves where the file has them as one tensor, one after the
 * other: `qkv_proj` and `gate_up_proj`, floats or quantised, with their biases. Where a layer has the single ones, they
 * are taken, and a fused one beside them is left over.
 *
 * Throws ERR_SHAPE, when a part is asked for, where the rows of a fused tensor are not those of its parts.
 */
export function splitFused(store: TensorStore, names: DecoderNames, config: DecoderConfig): TensorStore {
  const present = new Set(store.names);
  const parts = new Map<string, Part>();
  const split = (of: string, stems: readonly [stem: string, rows: number][]): void => {
    const [[firstStem] = [""]] = stems;
    if (!present.has(`${of}.weight`) || present.has(`${firstStem}.weight`)) return;
    const total = stems.reduce((sum, [, rows]) => sum + rows, 0);
    // GGUF has gate and up under the name of up alone: the rows tell which of the two it is.
    if (stems.some(([stem]) => stem === of) && store.matrix(`${of}.weight`)?.N !== total) return;
    const biased = present.has(`${of}.bias`);
    present.delete(`${of}.weight`);
    present.delete(`${of}.bias`);
    let first = 0;
    for (const [stem, rows] of stems) {
      parts.set(stem, { of, first, end: first + rows, total });
      first += rows;
      present.add(`${stem}.weight`);
      if (biased) present.add(`${stem}.bias`);
    }
  };
  const { heads, kvHeads, headSize, innerSize } = config;
  for (let l = 0; l < config.layers.length; l++) {
    const layer = names.layer(l);
    const [query, key] = [heads * headSize, kvHeads * headSize];
    split(layer.qkv, [
      [layer.q, query],
      [layer.k, key],
      [layer.v, key],
    ]);
    split(layer.gateUp, [
      [layer.gate, innerSize],
      [layer.up, innerSize],
    ]);
  }
  if (parts.size === 0) return store;

  const partOf = (name: string): Part | undefined => parts.get(name.replace(/\.(weight|bias)$/, ""));
  const check = (part: Part, rows: number, end: string): void => {
    if (rows === part.total) return;
    throw new HalfbyteError("ERR_SHAPE", "the fused tensor does not have the rows of its parts", {
      place: `${store.place}, ${part.of}.${end}`,
      expected: String(part.total),
      got: String(rows),
    });
  };
  const fused = new Map<string, MatrixSource | undefined>();
  return {
    place: store.place,
    names: [...present],
    matrix(name) {
      const part = partOf(name);
      if (!part) return store.matrix(name);
      // One source for all parts: what it holds of its file serves the next.
      if (!fused.has(part.of)) fused.set(part.of, store.matrix(`${part.of}.weight`));
      const source = fused.get(part.of);
      if (!source) return undefined;
      check(part, source.N, "weight");
      return rowsOfSource(source, part.first, part.end, name);
    },
    vectorLength(name) {
      const part = partOf(name);
      if (!part) return store.vectorLength(name);
      const length = store.vectorLength(`${part.of}.bias`);
      if (length === undefined) return undefined;
      check(part, length, "bias");
      return part.end - part.first;
    },
    async vector(name, role) {
      const part = partOf(name);
      if (!part) return store.vector(name, role);
      return (await store.vector(`${part.of}.bias`, role)).slice(part.first, part.end);
    },
  };
}
