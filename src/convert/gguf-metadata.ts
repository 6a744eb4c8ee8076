import type { JsonObject } from "../formats/json.ts";
import type { DecoderConfig } from "../models/decoder-config.ts";
import { type RopeSpec, ropeDivisors } from "../plan/rope-table.ts";
import type { GgufValueOut } from "./write-gguf.ts";

/** Keys and the one tensor of a GGUF file that say what a decoder's configuration does. */
export interface ModelEntries {
  readonly entries: ReadonlyMap<string, GgufValueOut>;
  /** `rope_freqs.weight`, where frequencies have divisors of their own. */
  readonly ropeDivisors: Float32Array | undefined;
}

/** `general.*` and the keys under the architecture's own name. Keys: https://github.com/ggml-org/ggml/blob/master/docs/gguf.md */
export function modelEntries(
  architecture: string,
  config: DecoderConfig,
  about: { readonly name: string | undefined; readonly license: string | undefined },
): ModelEntries {
  const entries = new Map<string, GgufValueOut>();
  const text = (key: string, value: string): void => void entries.set(key, { type: "string", value });
  const count = (key: string, value: number): void => void entries.set(key, { type: "u32", value });
  const real = (key: string, value: number): void => void entries.set(key, { type: "f32", value });
  const own = (key: string): string => `${architecture}.${key}`;
  text("general.architecture", architecture);
  text("general.type", "model");
  if (about.name !== undefined) text("general.name", about.name);
  if (about.license !== undefined) text("general.license", about.license);
  count("general.quantization_version", 2);
  count(own("vocab_size"), config.vocabularySize);
  count(own("context_length"), config.contextLength);
  count(own("embedding_length"), config.hiddenSize);
  count(own("block_count"), config.layers.length);
  count(own("feed_forward_length"), config.innerSize);
  count(own("attention.head_count"), config.heads);
  count(own("attention.head_count_kv"), config.kvHeads);
  count(own("attention.key_length"), config.headSize);
  count(own("attention.value_length"), config.headSize);
  real(own("attention.layer_norm_rms_epsilon"), config.normEps);
  const scale = Math.fround(config.attentionScale);
  if (scale !== Math.fround(config.headSize ** -0.5)) real(own("attention.scale"), config.attentionScale);
  const { layers } = config;
  const global = (layers.find(({ window }) => window === undefined) ?? layers[0]!).rope;
  const sliding = layers.find(({ window }) => window !== undefined);
  count(own("rope.dimension_count"), global.rotary);
  real(own("rope.freq_base"), global.base);
  if (global.scaling?.type === "linear") {
    text(own("rope.scaling.type"), "linear");
    real(own("rope.scaling.factor"), global.scaling.factor);
  }
  if (sliding?.window !== undefined) {
    count(own("attention.sliding_window"), sliding.window);
    if (layers.some(({ window }) => window === undefined)) {
      const value = layers.map(({ window }) => Number(window !== undefined));
      entries.set(own("attention.sliding_window_pattern"), { type: "array", of: "bool", value });
      real(own("rope.freq_base_swa"), sliding.rope.base);
    }
  }
  return { entries, ropeDivisors: divisorsOf(global) };
}

function divisorsOf(rope: RopeSpec): Float32Array | undefined {
  const type = rope.scaling?.type;
  return type === "llama3" || type === "divisors" ? Float32Array.from(ropeDivisors(rope)) : undefined;
}

/** What a folder says of a model's name: that it was saved under, without its owner. */
export function nameOf(config: JsonObject): string | undefined {
  const { _name_or_path: name } = config;
  return typeof name === "string" && name !== "" ? name.slice(name.lastIndexOf("/") + 1) : undefined;
}
