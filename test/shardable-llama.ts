import { encodeAwq } from "../src/formats/encodings/awq.ts";
import { encodeCompressed, encodeIntQuantized } from "../src/formats/encodings/compressed-tensors.ts";
import { encodeCpuInt4 } from "../src/formats/encodings/cpu-int4.ts";
import type { OrderedMatrix } from "../src/formats/encodings/form.ts";
import { encodeGptq } from "../src/formats/encodings/gptq.ts";
import { newTensor, type Tensor } from "../src/formats/encodings/tensors.ts";
import type { MatrixSource } from "../src/weights/matrix-source.ts";
import { matrixRowToFloat } from "../src/weights/unpack.ts";
import { type MatrixKind, randomMatrix } from "./encodings.ts";
import { filesOf } from "./quantized-folder.ts";

export const SIZES = { hidden: 64, heads: 6, kvHeads: 2, headSize: 16, inner: 160, vocabulary: 72 };
export const LAYER = "model.layers.0";

type Encode = (ordered: OrderedMatrix) => object;

const float: Encode = ({ matrix }) => {
  const values = new Float32Array(matrix.N * matrix.K);
  for (let n = 0; n < matrix.N; n++) matrixRowToFloat(matrix, n, values.subarray(n * matrix.K, (n + 1) * matrix.K));
  return { weight: newTensor("F32", [matrix.N, matrix.K], values) };
};
const FOUR: MatrixKind = { bits: 4, scale: "bf16", scaleBits: 4, zeros: "middle" };
const ANY: MatrixKind = { ...FOUR, zeros: "any" };
const EIGHT: MatrixKind = { ...ANY, bits: 8 };

export interface Encoding {
  readonly kind: MatrixKind;
  readonly encode: Encode;
  /** Whether the feed-forward matrices have an order of inputs. */
  readonly order?: boolean;
}

export const ENCODINGS: Record<string, Encoding> = {
  floats: { kind: FOUR, encode: float },
  cpu_int4: { kind: { ...FOUR, offsets: true }, encode: ({ matrix }) => encodeCpuInt4(matrix) },
  "GPTQ v1": { kind: FOUR, encode: (m) => encodeGptq(m, "v1") },
  "GPTQ, 8 bits": { kind: { ...EIGHT, zeros: "middle" }, encode: (m) => encodeGptq(m, "v2") },
  "GPTQ with act-order": { kind: FOUR, encode: (m) => encodeGptq(m, "v1"), order: true },
  AWQ: { kind: ANY, encode: ({ matrix }) => encodeAwq(matrix) },
  "pack-quantized": { kind: ANY, encode: (m) => encodeCompressed(m) },
  "pack-quantized, 8 bits": { kind: EIGHT, encode: (m) => encodeCompressed(m) },
  "pack-quantized with actorder": { kind: FOUR, encode: (m) => encodeCompressed(m), order: true },
  "int-quantized": { kind: EIGHT, encode: ({ matrix }) => encodeIntQuantized(matrix) },
};

/** The files of a random Llama of one layer in an encoding: six heads to two, biases in attention, an output matrix of its own. */
export function shardableLlama({ kind, encode, order }: Encoding, perOutput = false): Map<string, Uint8Array> {
  const { hidden, heads, kvHeads, headSize, inner, vocabulary } = SIZES;
  const tensors = new Map<string, Tensor>();
  const put = (name: string, N: number, K: number, ordered = false): void => {
    const groupSize = perOutput ? K : 32;
    const matrix = randomMatrix(tensors.size + 1, N, K, groupSize, { ...kind, order: ordered && order === true });
    for (const [end, tensor] of Object.entries(encode(matrix))) tensors.set(`${name}.${end}`, tensor as Tensor);
  };
  const vector = (name: string, length: number): void => {
    tensors.set(
      name,
      newTensor(
        "F32",
        [length],
        Float32Array.from({ length }, (_, i) => i + 1),
      ),
    );
  };
  put("model.embed_tokens", vocabulary, hidden);
  put("lm_head", vocabulary, hidden, true);
  vector("model.norm.weight", hidden);
  vector(`${LAYER}.input_layernorm.weight`, hidden);
  vector(`${LAYER}.post_attention_layernorm.weight`, hidden);
  for (const [part, N] of Object.entries({ q: heads, k: kvHeads, v: kvHeads })) {
    put(`${LAYER}.self_attn.${part}_proj`, N * headSize, hidden, true);
    vector(`${LAYER}.self_attn.${part}_proj.bias`, N * headSize);
  }
  put(`${LAYER}.self_attn.o_proj`, hidden, heads * headSize);
  vector(`${LAYER}.self_attn.o_proj.bias`, hidden);
  put(`${LAYER}.mlp.gate_proj`, inner, hidden, true);
  put(`${LAYER}.mlp.up_proj`, inner, hidden, true);
  put(`${LAYER}.mlp.down_proj`, hidden, inner, true);
  const config = {
    model_type: "llama",
    hidden_size: hidden,
    intermediate_size: inner,
    num_hidden_layers: 1,
    num_attention_heads: heads,
    num_key_value_heads: kvHeads,
    head_dim: headSize,
    vocab_size: vocabulary,
    max_position_embeddings: 128,
    attention_bias: true,
  };
  return filesOf({ config, tensors, json: { "generation_config.json": {} } });
}

/** All weights, [N][K], each at its input. */
export async function weightsOf({ N, K, inputOrder, readRows }: MatrixSource): Promise<Float32Array[]> {
  const out: Float32Array[] = [];
  // In pieces, as executors read.
  for (let first = 0; first < N; first += 16) {
    const rows = await readRows(first, Math.min(16, N - first));
    for (let n = 0; n < rows.N; n++) {
      const columns = new Float32Array(K);
      matrixRowToFloat(rows, n, columns);
      const row = new Float32Array(K);
      columns.forEach((w, j) => {
        row[inputOrder ? inputOrder[j]! : j] = w;
      });
      out.push(row);
    }
  }
  return out;
}
