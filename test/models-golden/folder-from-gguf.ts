import { readFile } from "node:fs/promises";
import { newTensor, type Tensor } from "../../src/formats/encodings/tensors.ts";
import { openGguf } from "../../src/formats/gguf/open-gguf.ts";
import { memorySource } from "../../src/formats/memory-source.ts";
import { ggufFloats, ggufMatrix } from "../../src/formats/read-tensor.ts";
import { type HuggingFaceFolder, openHuggingFaceFolder } from "../../src/formats/safetensors/hugging-face-folder.ts";
import { ggufNames, huggingFaceNames } from "../../src/models/tensor-names.ts";
import type { QuantizedMatrix } from "../../src/weights/quantized-matrix.ts";
import { safetensorsOf } from "../safetensors-writer.ts";

interface Floats {
  readonly shape: number[];
  readonly values: Float32Array;
}

interface FolderOptions {
  /** As the text part of a model that also sees, with a tensor of its vision tower. */
  readonly seeing?: boolean;
  /** Matrices stay quantised, in an encoding. */
  readonly quantized?: {
    readonly config: object;
    encode(matrix: QuantizedMatrix, name: string): Readonly<Record<string, Tensor>>;
  };
}

const CONFIGS: Record<string, object> = {
  llama: { model_type: "llama", rope_theta: 100_000, rms_norm_eps: 1e-5 },
  gemma3: {
    model_type: "gemma3_text",
    rms_norm_eps: 1e-6,
    sliding_window: 8,
    query_pre_attn_scalar: 32,
    rope_parameters: { full_attention: { rope_theta: 1e6 }, sliding_attention: { rope_theta: 1e4 } },
  },
};

/** The weights of a tiny GGUF under the names and in the conventions of transformers, config.json included. */
export async function folderFromGguf(
  path: string,
  architecture: string,
  { seeing = false, quantized }: FolderOptions = {},
): Promise<HuggingFaceFolder> {
  const { metadata, tensors } = await openGguf(memorySource(await readFile(path), path));
  const key = (name: string): number => metadata.number(`${architecture}.${name}`);
  const config = {
    ...CONFIGS[architecture],
    hidden_size: key("embedding_length"),
    intermediate_size: key("feed_forward_length"),
    num_hidden_layers: key("block_count"),
    num_attention_heads: key("attention.head_count"),
    num_key_value_heads: key("attention.head_count_kv"),
    head_dim: metadata.number(`${architecture}.attention.key_length`, 32),
    max_position_embeddings: 256,
    vocab_size: 512,
    tie_word_embeddings: true,
    ...(quantized && { quantization_config: quantized.config }),
  };
  const gemma = architecture === "gemma3";
  const out = new Map<string, Tensor>();
  const prefix = seeing ? "language_model.model." : "model.";
  const names = huggingFaceNames((name) => name.startsWith(prefix), gemma);
  const put = async (from: string, to: string, change: (tensor: Floats) => Floats = (same) => same): Promise<void> => {
    const tensor = tensors.get(from);
    if (!tensor) return;
    const { shape, values } = change({ shape: tensor.shape.toReversed(), values: await ggufFloats(tensor) });
    out.set(to, newTensor("F32", shape, values));
  };
  const putMatrix = async (from: string, to: string, turn: boolean): Promise<void> => {
    if (!quantized) return put(from, to, turn ? turned : undefined);
    const source = ggufMatrix(tensors.get(from)!);
    const matrix = (await source.readRows(0, source.N)) as QuantizedMatrix;
    const parts = quantized.encode(turn && !gemma ? turnedRows(matrix, config.head_dim) : matrix, to);
    const stem = to.replace(/weight$/, "");
    for (const [end, tensor] of Object.entries(parts)) out.set(stem + end, tensor);
  };
  const norm = ({ shape, values }: Floats): Floats => ({ shape, values: gemma ? values.map((w) => w - 1) : values });
  const turned = (tensor: Floats): Floats => (gemma ? tensor : halvesFromNeighbours(tensor, config.head_dim));
  await putMatrix(ggufNames.embedding, names.embedding, false);
  await put(ggufNames.finalNorm, names.finalNorm, norm);
  for (let l = 0; l < config.num_hidden_layers; l++) {
    const from = ggufNames.layer(l);
    const to = names.layer(l);
    for (const role of ["q", "k", "v", "output", "gate", "up", "down"] as const)
      await putMatrix(`${from[role]}.weight`, `${to[role]}.weight`, role === "q" || role === "k");
    for (const role of ["attentionNorm", "qNorm", "kNorm", "postAttentionNorm", "mlpNorm", "postMlpNorm"] as const)
      await put(from[role], to[role], norm);
  }
  if (seeing) out.set("vision_tower.patch.weight", newTensor("F32", [2], new Float32Array(2)));
  const written = seeing ? { model_type: architecture, text_config: config } : config;
  const files = new Map<string, Uint8Array>([
    ["config.json", new TextEncoder().encode(JSON.stringify(written))],
    ["model.safetensors", safetensorsOf(out)],
  ]);
  return openHuggingFaceFolder(async (name) => {
    const bytes = files.get(name);
    return bytes && memorySource(bytes, name);
  });
}

/** Rows of each head from neighbouring pairs, as GGUF has llama's q and k, to halves. */
function halvesFromNeighbours({ shape, values }: Floats, headSize: number): Floats {
  return { shape, values: turnRows(values, shape[0]!, headSize) };
}

function turnedRows(matrix: QuantizedMatrix, headSize: number): QuantizedMatrix {
  const { scale, codes, N } = matrix;
  if ("superSize" in scale || typeof matrix.zero !== "number" || matrix.offset) throw new Error("not Q4_0 or Q8_0");
  const values = { ...scale, values: turnRows(scale.values, N, headSize) } as typeof scale;
  return { ...matrix, codes: turnRows(codes, N, headSize), scale: values };
}

function turnRows<T extends Uint8Array | Uint16Array | Float32Array>(rows: T, N: number, headSize: number): T {
  const width = rows.length / N;
  const half = headSize / 2;
  const out = rows.slice() as T;
  for (let n = 0; n < N; n++) {
    const [head, i] = [Math.floor(n / headSize), n % headSize];
    const to = head * headSize + (i % 2) * half + Math.floor(i / 2);
    out.set(rows.subarray(n * width, (n + 1) * width), to * width);
  }
  return out;
}
