import { readFile } from "node:fs/promises";
import { openGguf } from "../../src/formats/gguf/open-gguf.ts";
import { memorySource } from "../../src/formats/memory-source.ts";
import { ggufFloats } from "../../src/formats/read-tensor.ts";
import { type HuggingFaceFolder, openHuggingFaceFolder } from "../../src/formats/safetensors/hugging-face-folder.ts";
import { ggufNames, huggingFaceNames } from "../../src/models/tensor-names.ts";
import { writeSafetensors } from "../safetensors-writer.ts";

interface Tensor {
  readonly shape: number[];
  readonly values: Float32Array;
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

/**
 * The float weights of a tiny GGUF under the names and in the conventions of transformers, config.json included. `seeing`:
 * as the text part of a model that also sees, with a tensor of its vision tower.
 */
export async function folderFromGguf(path: string, architecture: string, seeing = false): Promise<HuggingFaceFolder> {
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
  };
  const gemma = architecture === "gemma3";
  const out = new Map<string, Tensor>();
  const prefix = seeing ? "language_model.model." : "model.";
  const names = huggingFaceNames((name) => name.startsWith(prefix), gemma);
  const put = async (from: string, to: string, change: (tensor: Tensor) => Tensor = (same) => same): Promise<void> => {
    const tensor = tensors.get(from);
    if (tensor) out.set(to, change({ shape: tensor.shape.toReversed(), values: await ggufFloats(tensor) }));
  };
  const norm = ({ shape, values }: Tensor): Tensor => ({ shape, values: gemma ? values.map((w) => w - 1) : values });
  const turned = (tensor: Tensor): Tensor => (gemma ? tensor : halvesFromNeighbours(tensor, config.head_dim));
  await put(ggufNames.embedding, names.embedding);
  await put(ggufNames.finalNorm, names.finalNorm, norm);
  for (let l = 0; l < config.num_hidden_layers; l++) {
    const from = ggufNames.layer(l);
    const to = names.layer(l);
    for (const role of ["q", "k", "v", "output", "gate", "up", "down"] as const)
      await put(`${from[role]}.weight`, `${to[role]}.weight`, role === "q" || role === "k" ? turned : undefined);
    for (const role of ["attentionNorm", "qNorm", "kNorm", "postAttentionNorm", "mlpNorm", "postMlpNorm"] as const)
      await put(from[role], to[role], norm);
  }
  if (seeing) out.set("vision_tower.patch.weight", { shape: [2], values: new Float32Array(2) });
  const written = seeing ? { model_type: architecture, text_config: config } : config;
  const files = new Map<string, Uint8Array>([
    ["config.json", new TextEncoder().encode(JSON.stringify(written))],
    ["model.safetensors", safetensors(out)],
  ]);
  return openHuggingFaceFolder(async (name) => {
    const bytes = files.get(name);
    return bytes && memorySource(bytes, name);
  });
}

/** Rows of each head from neighbouring pairs, as GGUF has llama's q and k, to halves. */
function halvesFromNeighbours({ shape, values }: Tensor, headSize: number): Tensor {
  const [N, K] = shape as [number, number];
  const half = headSize / 2;
  const out = new Float32Array(values.length);
  for (let n = 0; n < N; n++) {
    const [head, i] = [Math.floor(n / headSize), n % headSize];
    const to = head * headSize + (i % 2) * half + Math.floor(i / 2);
    out.set(values.subarray(n * K, (n + 1) * K), to * K);
  }
  return { shape, values: out };
}

function safetensors(tensors: ReadonlyMap<string, Tensor>): Uint8Array {
  const header: Record<string, object> = {};
  let size = 0;
  for (const [name, { shape, values }] of tensors) {
    header[name] = { dtype: "F32", shape, data_offsets: [size, (size += values.byteLength)] };
  }
  const data = new Float32Array(size / 4);
  let at = 0;
  for (const { values } of tensors.values()) {
    data.set(values, at);
    at += values.length;
  }
  return writeSafetensors(header, new Uint8Array(data.buffer));
}
