import { f32ToBf16 } from "../src/arithmetic/half.ts";
import { newTensor, type Tensor } from "../src/formats/encodings/tensors.ts";
import { memorySource } from "../src/formats/memory-source.ts";
import { type HuggingFaceFolder, openHuggingFaceFolder } from "../src/formats/safetensors/hugging-face-folder.ts";
import type { QuantizedMatrix } from "../src/weights/quantized-matrix.ts";
import { type MatrixKind, randomMatrix } from "./encodings.ts";
import { safetensorsOf } from "./safetensors-writer.ts";

/** A folder before it is written: tests change what they like. */
export interface WrittenFolder {
  readonly config: Record<string, unknown>;
  readonly tensors: Map<string, Tensor>;
  /** Further files, as JSON. */
  readonly json: Record<string, unknown>;
}

export type Encode = (matrix: QuantizedMatrix, name: string) => Readonly<Record<string, Tensor>>;

/** Integer zeros, and scales of so few bits that every 4-bit encoding holds the matrix. */
const KIND: MatrixKind = { bits: 4, scale: "bf16", scaleBits: 4, zeros: "middle" };

/**
 * A random Llama of one layer with quantised matrices: hidden 64, two heads of 32 to one, feed-forward 96, vocabulary 48,
 * output tied to an embedding of floats.
 */
export function quantizedLlama(quantization_config: object | undefined, encode: Encode): WrittenFolder {
  const tensors = new Map<string, Tensor>();
  const put = (name: string, N: number, K: number): void => {
    const { matrix } = randomMatrix(tensors.size + 1, N, K, 32, KIND);
    for (const [end, tensor] of Object.entries(encode(matrix, name))) tensors.set(`${name}.${end}`, tensor);
  };
  const bf16 = (name: string, shape: number[]): void => {
    const length = shape.reduce((product, size) => product * size, 1);
    const values = Uint16Array.from({ length }, (_, i) => f32ToBf16(1 + (i % 7) / 8));
    tensors.set(name, newTensor("BF16", shape, values));
  };
  const layer = "model.layers.0";
  bf16("model.embed_tokens.weight", [48, 64]);
  bf16("model.norm.weight", [64]);
  bf16(`${layer}.input_layernorm.weight`, [64]);
  bf16(`${layer}.post_attention_layernorm.weight`, [64]);
  put(`${layer}.self_attn.q_proj`, 64, 64);
  put(`${layer}.self_attn.k_proj`, 32, 64);
  put(`${layer}.self_attn.v_proj`, 32, 64);
  put(`${layer}.self_attn.o_proj`, 64, 64);
  put(`${layer}.mlp.gate_proj`, 96, 64);
  put(`${layer}.mlp.up_proj`, 96, 64);
  put(`${layer}.mlp.down_proj`, 64, 96);
  const config = {
    model_type: "llama",
    hidden_size: 64,
    intermediate_size: 96,
    num_hidden_layers: 1,
    num_attention_heads: 2,
    num_key_value_heads: 1,
    vocab_size: 48,
    max_position_embeddings: 128,
    tie_word_embeddings: true,
    ...(quantization_config && { quantization_config }),
  };
  return { config, tensors, json: {} };
}

export function filesOf({ config, tensors, json }: WrittenFolder): Map<string, Uint8Array> {
  const encode = (value: unknown): Uint8Array => new TextEncoder().encode(JSON.stringify(value));
  const files = new Map(Object.entries(json).map(([name, value]) => [name, encode(value)] as const));
  return files.set("config.json", encode(config)).set("model.safetensors", safetensorsOf(tensors));
}

export function openFiles(files: ReadonlyMap<string, Uint8Array>): Promise<HuggingFaceFolder> {
  return openHuggingFaceFolder(async (name) => {
    const bytes = files.get(name);
    return bytes && memorySource(bytes, name);
  });
}
