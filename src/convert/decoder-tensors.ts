import type { DecoderConfig } from "../models/decoder-config.ts";
import type { DecoderNames } from "../models/tensor-names.ts";
import type { MatrixSource } from "../weights/matrix-source.ts";
import { takeRows } from "../weights/slice-matrix.ts";

/** A tensor of a decoder, by its place in the model: lists made with different names run in step. */
export interface DecoderTensor {
  readonly name: string;
  readonly kind: "matrix" | "norm" | "bias";
  /** Rows are those of heads that turn: their order differs between formats. */
  readonly turns: boolean;
}

/** All tensors of a decoder, in the order of a step. */
export function decoderTensors(config: DecoderConfig, names: DecoderNames): DecoderTensor[] {
  const { biases, headNorms, postNorms, tiedOutput } = config;
  const tensors: DecoderTensor[] = [];
  const matrix = (name: string): void => void tensors.push({ name, kind: "matrix", turns: false });
  const norm = (name: string): void => void tensors.push({ name, kind: "norm", turns: false });
  const linear = (stem: string, bias: boolean, turns = false): void => {
    tensors.push({ name: `${stem}.weight`, kind: "matrix", turns });
    if (bias) tensors.push({ name: `${stem}.bias`, kind: "bias", turns });
  };
  matrix(names.embedding);
  for (let l = 0; l < config.layers.length; l++) {
    const layer = names.layer(l);
    norm(layer.attentionNorm);
    linear(layer.q, biases.qkv, true);
    linear(layer.k, biases.qkv, true);
    linear(layer.v, biases.qkv);
    if (headNorms) norm(layer.qNorm);
    if (headNorms) norm(layer.kNorm);
    linear(layer.output, biases.output);
    if (postNorms) norm(layer.postAttentionNorm);
    norm(layer.mlpNorm);
    linear(layer.gate, biases.mlp);
    linear(layer.up, biases.mlp);
    linear(layer.down, biases.mlp);
    if (postNorms) norm(layer.postMlpNorm);
  }
  norm(names.finalNorm);
  if (!tiedOutput) matrix(names.output);
  return tensors;
}

/** To GGUF's order of rows in a head, where neighbours turn together, or back to halves. */
export type RowOrder = "neighbours" | "halves";

/** Row i of each head is row `order[i]` of what it was. */
function headOrder(headSize: number, to: RowOrder): Int32Array {
  const half = headSize / 2;
  return Int32Array.from({ length: headSize }, (_, i) =>
    to === "neighbours" ? (i % 2) * half + Math.floor(i / 2) : (i % half) * 2 + Math.floor(i / half),
  );
}

/** The same matrix with the rows of each head in another order. */
export function reordered(source: MatrixSource, headSize: number, to: RowOrder): MatrixSource {
  const order = headOrder(headSize, to);
  const { ggml, rowBytes } = source;
  /** Whole heads around rows, and where these rows then are among the heads'. */
  const around = (first: number, count: number): { start: number; length: number; rows: Int32Array } => {
    const start = Math.floor(first / headSize) * headSize;
    const length = Math.ceil((first + count - start) / headSize) * headSize;
    const rows = Int32Array.from({ length: count }, (_, i) => {
      const row = first + i - start;
      return row - (row % headSize) + order[row % headSize]!;
    });
    return { start, length, rows };
  };
  return {
    ...source,
    async readRows(first, count) {
      const { start, length, rows } = around(first, count);
      return takeRows(await source.readRows(start, length), rows);
    },
    ...(ggml && {
      ggml: {
        type: ggml.type,
        async readInto(first, count, target) {
          const { start, length, rows } = around(first, count);
          const bytes = new Uint8Array(length * rowBytes);
          await ggml.readInto(start, length, bytes);
          for (const [i, row] of rows.entries())
            target.set(bytes.subarray(row * rowBytes, (row + 1) * rowBytes), i * rowBytes);
        },
      },
    }),
  };
}

/** A bias in the same order. */
export function reorderedVector(values: Float32Array, headSize: number, to: RowOrder): Float32Array {
  const order = headOrder(headSize, to);
  return values.map((_, i) => values[i - (i % headSize) + order[i % headSize]!]!);
}
