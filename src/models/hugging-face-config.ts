import { HalfbyteError } from "../errors.ts";
import type { GateKind } from "../plan/graph.ts";
import type { RopeSpec } from "../plan/rope-table.ts";
import type { ConfigReader } from "./config-reader.ts";
import { checkHeads, type DecoderConfig, type LayerConfig } from "./decoder-config.ts";
import * as limits from "./limits.ts";
import { ropeScaling } from "./rope-scaling.ts";

type CountKey =
  | "hidden_size"
  | "intermediate_size"
  | "num_attention_heads"
  | "num_key_value_heads"
  | "vocab_size"
  | "max_position_embeddings";

/**
 * What transformers fills in where config.json leaves a key out; a count without a default here must be there.
 * Source: the configuration classes of transformers 4.55 and 5.24.
 */
export interface HuggingFaceDefaults extends Partial<Record<CountKey, number>> {
  readonly head_dim?: number;
  readonly tie_word_embeddings?: boolean;
  readonly activation?: string;
  /** Keys that are refused elsewhere and that the architecture reads itself. */
  readonly reads?: readonly string[];
}

/** A config.json as transformers 4 or 5 writes it, all but the layers: the keys all decoders share. */
export type SharedConfig = Omit<DecoderConfig, "layers" | "biases">;

/** Throws ERR_UNSUPPORTED for what would change the answer and is not built: never ignores it. */
export function huggingFaceDecoder(config: ConfigReader, defaults: HuggingFaceDefaults): SharedConfig {
  refuseUnsupported(config, defaults.reads ?? []);
  const count = (key: CountKey, max: number): number => {
    const absent = defaults[key];
    return absent === undefined ? config.count(key, max) : config.count(key, max, absent);
  };
  const hiddenSize = count("hidden_size", limits.MAX_HIDDEN);
  const heads = count("num_attention_heads", limits.MAX_HEADS);
  const kvHeads = count("num_key_value_heads", limits.MAX_HEADS);
  const headSize = config.count("head_dim", limits.MAX_HEAD_SIZE, defaults.head_dim ?? hiddenSize / heads);
  checkHeads(heads, kvHeads, headSize, config.place("num_attention_heads"));
  return {
    vocabularySize: count("vocab_size", limits.MAX_VOCABULARY),
    contextLength: count("max_position_embeddings", limits.MAX_CONTEXT),
    hiddenSize,
    innerSize: count("intermediate_size", limits.MAX_INNER),
    heads,
    kvHeads,
    headSize,
    pairing: "halves",
    attentionScale: headSize ** -0.5,
    normEps: config.positive("rms_norm_eps", 1e-6),
    gate: gateKind(config, defaults.activation ?? "silu"),
    embeddingMultiplier: 1,
    headNorms: false,
    postNorms: false,
    normsPlusOne: false,
    tiedOutput: config.boolean("tie_word_embeddings", defaults.tie_word_embeddings ?? false),
  };
}

function refuseUnsupported(config: ConfigReader, reads: readonly string[]): void {
  for (const key of ["num_local_experts", "num_experts", "n_routed_experts"])
    config.refuse(key, "mixture of experts", 0);
  for (const key of ["attn_logit_softcapping", "final_logit_softcapping"])
    if (!reads.includes(key)) config.refuse(key, "capped logits");
  if (!reads.includes("partial_rotary_factor"))
    config.refuse("partial_rotary_factor", "rotary embedding of a part of each head", 1);
  config.refuse("use_bidirectional_attention", "attention to later tokens", false);
  const classes = config.array("architectures") ?? [];
  const generates = classes.some(
    (name) => typeof name === "string" && /For(CausalLM|ConditionalGeneration)$/.test(name),
  );
  if (classes.length > 0 && !generates)
    throw config.unsupported("architectures", "a model that does not generate text");
}

/** transformers' names of activations. Gemma writes `hidden_activation`, the others `hidden_act`. */
function gateKind(config: ConfigReader, absent: string): GateKind {
  const key = config.has("hidden_activation") ? "hidden_activation" : "hidden_act";
  switch (config.text(key, absent)) {
    case "silu":
    case "swish":
      return "silu";
    case "gelu_pytorch_tanh":
    case "gelu_new":
      return "gelu-tanh";
    case "gelu":
      return "gelu-erf";
    default:
      throw config.unsupported(key, "this activation function");
  }
}

/** Where the rotary parameters of one kind of layer stand. */
export interface RopeSource {
  /** Keys of transformers 4. */
  readonly thetaKey?: string;
  readonly scalingKey?: string;
  /** Layer type under `rope_parameters`, where a model has several. */
  readonly layerType?: string;
  readonly defaultTheta: number;
  /** Heads may turn in part; the part where no key says it. */
  readonly partial?: number;
}

/** The rotary embedding in either spelling: `rope_parameters`, or `rope_theta` with `rope_scaling`. */
export function huggingFaceRope(config: ConfigReader, headSize: number, source: RopeSource): RopeSpec {
  let parameters = config.object("rope_parameters");
  if (parameters && source.layerType !== undefined && parameters.has(source.layerType))
    parameters = parameters.object(source.layerType);
  const { thetaKey, scalingKey, defaultTheta } = source;
  const old = thetaKey === undefined ? defaultTheta : config.positive(thetaKey, defaultTheta);
  const base = parameters ? parameters.positive("rope_theta", old) : old;
  const scaled = parameters ?? (scalingKey === undefined ? undefined : config.object(scalingKey));
  const rotary = source.partial === undefined ? headSize : turningDims(config, scaled, headSize, source.partial);
  if (source.partial === undefined)
    scaled?.refuse("partial_rotary_factor", "rotary embedding of a part of each head", 1);
  const scaling = scaled && ropeScaling(scaled, config, rotary);
  return scaling ? { rotary, base, scaling } : { rotary, base };
}

/** Of each head, those that turn: an even number. */
function turningDims(config: ConfigReader, scaled: ConfigReader | undefined, headSize: number, absent: number): number {
  const key = "partial_rotary_factor";
  const reader = scaled?.has(key) ? scaled : config;
  const rotary = Math.floor(headSize * reader.positive(key, absent));
  if (rotary >= 2 && rotary <= headSize && rotary % 2 === 0) return rotary;
  throw reader.unsupported(key, `${rotary} turning dims of a head of ${headSize}`);
}

/** `num_hidden_layers`, within bounds. */
export function layerCount(config: ConfigReader, absent?: number): number {
  return absent === undefined
    ? config.count("num_hidden_layers", limits.MAX_LAYERS)
    : config.count("num_hidden_layers", limits.MAX_LAYERS, absent);
}

/**
 * Which layers have a sliding window: as `layer_types` says, or by `slides` where it is absent. Throws ERR_SHAPE for a
 * list of another length than `count`, ERR_UNSUPPORTED for other kinds of layers.
 */
export function slidingLayers(config: ConfigReader, count: number, slides: (l: number) => boolean): boolean[] {
  const types = config.array("layer_types");
  if (!types) return Array.from({ length: count }, (_, l) => slides(l));
  if (types.length !== count)
    throw new HalfbyteError("ERR_SHAPE", "one type for each layer is needed", {
      place: config.place("layer_types"),
      expected: String(count),
      got: String(types.length),
    });
  return types.map((type) => {
    if (type === "sliding_attention" || type === "full_attention") return type === "sliding_attention";
    throw config.unsupported("layer_types", "a layer type other than sliding_attention and full_attention");
  });
}

/** The layers of a model whose layers share one rotary embedding; `sliding_window` is 4096 where config.json has none. */
export function layersOf(config: ConfigReader, rope: RopeSpec, slides: readonly boolean[]): LayerConfig[] {
  const window = slides.includes(true) ? config.count("sliding_window", limits.MAX_CONTEXT, 4096) : undefined;
  return slides.map((sliding) => (sliding && window !== undefined ? { rope, window } : { rope }));
}
