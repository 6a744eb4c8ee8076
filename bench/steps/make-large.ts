// `node bench/run.mjs bench/steps/make-large.ts OUT.gguf [q4_k_m | q4_0] [LAYERS]`
import { f32ToF16 } from "../../src/arithmetic/half.ts";
import { openOutput } from "../../src/convert/node-output.ts";
import { copiedEntries, type GgufValueOut, writeGguf } from "../../src/convert/write-gguf.ts";
import type { GgufHeader, Outgoing } from "../../src/convert/writer.ts";
import { type GgmlType, ggmlType } from "../../src/formats/ggml/types.ts";
import { openGguf } from "../../src/formats/gguf/open-gguf.ts";
import { openFileSource } from "../../src/formats/node-file-source.ts";
import { pull } from "../../src/hub/index.ts";

const WIDTH = 2048;
const INNER = 8192;
const HEADS = 32;
const KV_HEADS = 8;
const VOCABULARY = 49_152;
const CONTEXT = 8192;
const [F32, Q4_0, Q4_K, Q6_K] = [0, 2, 12, 14];
const CHUNK_BLOCKS = 4096;

/**
 * A Llama of 1.5 billion parameters with random weights and the vocabulary of SmolLM2: larger than any cache, so that
 * speed is that of the memory. What it says means nothing.
 */
export async function main(): Promise<void> {
  const [out, kind = "q4_k_m", layers = "23"] = process.argv.slice(2);
  if (!out || !["q4_k_m", "q4_0"].includes(kind))
    throw new Error("usage: node bench/run.mjs bench/steps/make-large.ts OUT.gguf [q4_k_m | q4_0] [LAYERS]");
  const random = new Random(1);
  const tensors = tensorsOf(Number(layers), kind === "q4_k_m", random);
  const output = await openOutput(out, "file");
  try {
    await writeGguf(await output.sink(), await entries(Number(layers)), tensors);
    await output.commit();
  } catch (error) {
    await output.discard();
    throw error;
  }
  const bytes = tensors.reduce((sum, { tensors: [tensor] }) => sum + tensor!.byteLength, 0);
  console.log(`${out}: ${(bytes / 1e9).toFixed(2)} GB`);
}

/** SmolLM2's keys, with the sizes of this model. */
async function entries(layers: number): Promise<Map<string, GgufValueOut>> {
  const file = await openGguf(await openFileSource((await pull("smollm2")).path));
  const all = await copiedEntries(file.metadata);
  await file.close();
  const u32 = (key: string, value: number): unknown => all.set(key, { type: "u32", value });
  all.set("general.name", { type: "string", value: "random weights" });
  u32("llama.block_count", layers);
  u32("llama.embedding_length", WIDTH);
  u32("llama.feed_forward_length", INNER);
  u32("llama.attention.head_count", HEADS);
  u32("llama.attention.head_count_kv", KV_HEADS);
  u32("llama.rope.dimension_count", WIDTH / HEADS);
  u32("llama.context_length", CONTEXT);
  return all;
}

/** Mixed as llama.cpp's Q4_K_M is: six bits where they matter most. */
function tensorsOf(layers: number, mixed: boolean, random: Random): Outgoing<GgufHeader>[] {
  const tensors: Outgoing<GgufHeader>[] = [];
  const matrix = (name: string, K: number, N: number, important = false): void => {
    const type = mixed ? (important ? Q6_K : Q4_K) : Q4_0;
    tensors.push(randomMatrix(name, [K, N], ggmlType(type, name), random));
  };
  const norm = (name: string): void => void tensors.push(ones(name));
  const head = WIDTH / HEADS;
  matrix("token_embd.weight", WIDTH, VOCABULARY, true);
  norm("output_norm.weight");
  for (let layer = 0; layer < layers; layer++) {
    const important = layer < layers / 8 || layer >= (7 * layers) / 8 || layer % 3 === 2;
    const name = (part: string): string => `blk.${layer}.${part}.weight`;
    norm(name("attn_norm"));
    matrix(name("attn_q"), WIDTH, WIDTH);
    matrix(name("attn_k"), WIDTH, KV_HEADS * head);
    matrix(name("attn_v"), WIDTH, KV_HEADS * head, important);
    matrix(name("attn_output"), WIDTH, WIDTH);
    norm(name("ffn_norm"));
    matrix(name("ffn_gate"), WIDTH, INNER);
    matrix(name("ffn_up"), WIDTH, INNER);
    matrix(name("ffn_down"), INNER, WIDTH, important);
  }
  return tensors;
}

function ones(name: string): Outgoing<GgufHeader> {
  const bytes = new Uint8Array(new Float32Array(WIDTH).fill(1).buffer);
  const header = { name, type: ggmlType(F32, name), shape: [WIDTH], byteLength: bytes.byteLength };
  return { tensors: [header], write: (put) => put(name, 0, bytes) };
}

/** Blocks of random codes whose scales make weights of about 0.02. */
function randomMatrix(name: string, shape: readonly number[], type: GgmlType, random: Random): Outgoing<GgufHeader> {
  const blocks = shape.reduce((a, b) => a * b) / type.blockSize;
  return {
    tensors: [{ name, type, shape, byteLength: blocks * type.blockBytes }],
    async write(put) {
      for (let first = 0; first < blocks; first += CHUNK_BLOCKS) {
        const bytes = new Uint8Array(Math.min(CHUNK_BLOCKS, blocks - first) * type.blockBytes);
        random.fill(bytes);
        const view = new DataView(bytes.buffer);
        for (let at = 0; at < bytes.length; at += type.blockBytes) setScales(view, at, type.id);
        await put(name, first * type.blockBytes, bytes);
      }
    },
  };
}

function setScales(view: DataView, at: number, type: number): void {
  if (type === Q4_0) view.setUint16(at, f32ToF16(0.005), true);
  if (type === Q4_K) {
    view.setUint16(at, f32ToF16(0.00016), true);
    view.setUint16(at + 2, f32ToF16(0.0012), true);
  }
  if (type === Q6_K) {
    for (let i = 192; i < 208; i++) view.setInt8(at + i, (view.getUint8(at + i) & 15) + 1);
    view.setUint16(at + 208, f32ToF16(0.00015), true);
  }
}

/** xorshift32: the same file each time. */
class Random {
  #state: number;
  constructor(seed: number) {
    this.#state = seed;
  }

  fill(bytes: Uint8Array): void {
    const words = new Uint32Array(bytes.buffer, 0, bytes.length >> 2);
    for (let i = 0; i < words.length; i++) {
      let x = this.#state;
      x ^= x << 13;
      x ^= x >>> 17;
      x ^= x << 5;
      words[i] = this.#state = x;
    }
  }
}
