import { HalfbyteError } from "../errors.ts";
import type { GgufFile } from "../formats/gguf/open-gguf.ts";
import type { GgufTensor } from "../formats/gguf/parse.ts";
import { ggufFloats } from "../formats/read-tensor.ts";
import type { GateKind, RopePairing } from "../plan/graph.ts";
import type { RopeScaling, RopeSpec } from "../plan/rope-table.ts";
import { ConfigReader } from "./config-reader.ts";
import { checkHeads, type DecoderConfig } from "./decoder-config.ts";
import * as limits from "./limits.ts";
import { ggufNames } from "./tensor-names.ts";

/** What an architecture reads its configuration from: keys under the architecture's own prefix, and tensors. */
export interface GgufModelFile {
  readonly place: string;
  readonly config: ConfigReader;
  readonly tensors: ReadonlyMap<string, GgufTensor>;
  /** A small tensor as f32; undefined where it is absent, ERR_SHAPE unless it has `length` elements. */
  floats(name: string, length: number): Promise<Float32Array | undefined>;
  /** An array of flags or numbers under a key. */
  numbers(key: string): Promise<readonly number[]>;
}

export function ggufModelFile(file: GgufFile, architecture: string): GgufModelFile {
  const { metadata, tensors } = file;
  const place = file.sources[0]!.name;
  const get = (key: string): unknown => {
    const full = `${architecture}.${key}`;
    const entry = metadata.entry(full);
    if (!entry) return undefined;
    if (entry.type === "array") return new Array(Math.min(entry.length, limits.MAX_LAYERS));
    return entry.type === "string" ? metadata.string(full) : entry.value;
  };
  return {
    place,
    tensors,
    config: new ConfigReader(`${place}, ${architecture}`, get),
    async floats(name, length) {
      const tensor = tensors.get(name);
      if (!tensor) return undefined;
      if (tensor.N === 1 && tensor.K === length) return ggufFloats(tensor);
      throw new HalfbyteError("ERR_SHAPE", "tensor does not fit the model's sizes", {
        place: `${place}, ${name}`,
        expected: `[${length}]`,
        got: `[${tensor.shape}]`,
      });
    },
    async numbers(key) {
      return [...(await metadata.numbers(`${architecture}.${key}`))];
    },
  };
}

/** What architectures differ in that no key of a GGUF file says. */
export interface GgufFamily {
  readonly pairing: RopePairing;
  readonly gate: GateKind;
}

/**
 * The keys all decoders share. Biases and a separate output matrix are there when their tensors are.
 *
 * Keys: https://github.com/ggml-org/ggml/blob/master/docs/gguf.md
 */
export async function ggufDecoder(file: GgufModelFile, family: GgufFamily): Promise<DecoderConfig> {
  const { config, tensors, place } = file;
  for (const key of ["expert_count", "expert_used_count"]) config.refuse(key, "mixture of experts", 0);
  for (const key of ["attn_logit_softcapping", "final_logit_softcapping"]) config.refuse(key, "capped logits", 0);
  config.refuse("logit_scale", "scaled logits", 0, 1);
  config.refuse("attention.causal", "attention to later tokens", true);
  config.refuse("pooling_type", "an embedding model", 0);
  const embedding = tensors.get(ggufNames.embedding);
  if (!embedding)
    throw new HalfbyteError("ERR_MISSING", "the file has no embedding", { place: `${place}, ${ggufNames.embedding}` });
  if (embedding.N > limits.MAX_VOCABULARY)
    throw new HalfbyteError("ERR_LIMIT", "vocabulary past the limit", {
      place: `${place}, ${ggufNames.embedding}`,
      expected: `at most ${limits.MAX_VOCABULARY}`,
      got: String(embedding.N),
    });
  const hiddenSize = config.count("embedding_length", limits.MAX_HIDDEN);
  const heads = config.count("attention.head_count", limits.MAX_HEADS);
  const kvHeads = config.count("attention.head_count_kv", limits.MAX_HEADS, heads);
  const headSize = config.count("attention.key_length", limits.MAX_HEAD_SIZE, hiddenSize / heads);
  config.refuse("attention.value_length", "values of another size than keys", headSize);
  checkHeads(heads, kvHeads, headSize, place);
  const rope = await ggufRope(file, headSize);
  const none = config.raw("attention.sliding_window") === 0;
  const window = none ? undefined : config.count("attention.sliding_window", limits.MAX_CONTEXT, undefined);
  const layer = window === undefined ? { rope } : { rope, window };
  const has = (stem: string): boolean => tensors.has(`${stem}.bias`);
  const first = ggufNames.layer(0);
  return {
    vocabularySize: embedding.N,
    contextLength: config.count("context_length", limits.MAX_CONTEXT),
    hiddenSize,
    innerSize: config.count("feed_forward_length", limits.MAX_INNER),
    heads,
    kvHeads,
    headSize,
    layers: Array.from({ length: config.count("block_count", limits.MAX_LAYERS) }, () => layer),
    pairing: family.pairing,
    attentionScale: config.positive("attention.scale", headSize ** -0.5),
    normEps: config.positive("attention.layer_norm_rms_epsilon"),
    gate: family.gate,
    embeddingMultiplier: 1,
    headNorms: false,
    postNorms: false,
    normsPlusOne: false,
    biases: { qkv: has(first.q), output: has(first.output), mlp: has(first.gate) },
    tiedOutput: !tensors.has(ggufNames.output),
  };
}

/** The rotary embedding of a file: base, dims that turn, and scaling by keys or by a tensor of divisors. */
async function ggufRope(file: GgufModelFile, headSize: number): Promise<RopeSpec> {
  const { config, tensors } = file;
  const rotary = config.count("rope.dimension_count", headSize, headSize);
  if (rotary % 2 !== 0) throw config.unsupported("rope.dimension_count", "an odd number of turning dims");
  const base = config.positive("rope.freq_base", 10_000);
  if (tensors.has("rope_factors_long.weight"))
    throw new HalfbyteError("ERR_UNSUPPORTED", "rotary scaling of type longrope: not supported", {
      place: `${file.place}, rope_factors_long.weight`,
    });
  const divisors = await file.floats("rope_freqs.weight", rotary / 2);
  const linear = linearScaling(config);
  if (divisors && linear) throw config.unsupported("rope.scaling.factor", "rotary scaling by a factor and a tensor");
  const scaling = divisors ? divisorScaling(divisors) : linear;
  return scaling ? { rotary, base, scaling } : { rotary, base };
}

function divisorScaling(divisors: Float32Array): RopeScaling {
  if (!divisors.every((each) => Number.isFinite(each) && each > 0))
    throw new HalfbyteError("ERR_FORMAT", "divisors of frequencies must be above 0", { place: "rope_freqs.weight" });
  return { type: "divisors", divisors: [...divisors] };
}

/** Older files have the factor under `rope.scale_linear`. */
function linearScaling(config: ConfigReader): RopeScaling | undefined {
  const type = config.text("rope.scaling.type", "linear");
  if (type === "none") return undefined;
  if (type !== "linear") throw config.unsupported("rope.scaling.type", `rotary scaling of type ${type.slice(0, 20)}`);
  const key = config.has("rope.scaling.factor") ? "rope.scaling.factor" : "rope.scale_linear";
  const factor = config.raw(key) === 0 ? 1 : config.positive(key, 1);
  return factor === 1 ? undefined : { type: "linear", factor };
}
