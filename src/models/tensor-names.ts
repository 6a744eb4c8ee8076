import { HalfbyteError } from "../errors.ts";

/** Tensors of a layer in a file's own names. Matrices go by their stem: `.weight` and `.bias` are added to it. */
export interface LayerNames {
  readonly attentionNorm: string;
  readonly q: string;
  readonly k: string;
  readonly v: string;
  /** q, k and v in one, in a file that has them so. */
  readonly qkv: string;
  /** One output for each head, in a model that gates them. */
  readonly headGate: string;
  readonly output: string;
  readonly qNorm: string;
  readonly kNorm: string;
  readonly postAttentionNorm: string;
  readonly mlpNorm: string;
  readonly gate: string;
  readonly up: string;
  /** Gate and up in one, in a file that has them so. */
  readonly gateUp: string;
  readonly down: string;
  readonly postMlpNorm: string;
}

export interface DecoderNames {
  readonly embedding: string;
  readonly finalNorm: string;
  readonly output: string;
  layer(l: number): LayerNames;
}

/** Source: gguf-py/gguf/constants.py of llama.cpp. */
export const ggufNames: DecoderNames = {
  embedding: "token_embd.weight",
  finalNorm: "output_norm.weight",
  output: "output.weight",
  layer(l) {
    const of = (name: string): string => `blk.${l}.${name}`;
    return {
      attentionNorm: of("attn_norm.weight"),
      q: of("attn_q"),
      k: of("attn_k"),
      v: of("attn_v"),
      qkv: of("attn_qkv"),
      headGate: of("attn_gate"),
      output: of("attn_output"),
      qNorm: of("attn_q_norm.weight"),
      kNorm: of("attn_k_norm.weight"),
      postAttentionNorm: of("post_attention_norm.weight"),
      mlpNorm: of("ffn_norm.weight"),
      gate: of("ffn_gate"),
      up: of("ffn_up"),
      gateUp: of("ffn_up"),
      down: of("ffn_down"),
      postMlpNorm: of("post_ffw_norm.weight"),
    };
  },
};

/** Where the decoder stands in a checkpoint: alone, or inside a model that also sees (two generations of names). */
const PREFIXES = ["model.", "language_model.model.", "model.language_model."];

/**
 * Names of transformers' decoders. The norm before the feed-forward part is called after attention unless there are
 * norms after the parts too. `renamed` has what a model calls otherwise. Throws ERR_MISSING where the checkpoint has no embedding.
 */
export function huggingFaceNames(
  has: (name: string) => boolean,
  postNorms: boolean,
  renamed: Readonly<Record<string, string>> = {},
): DecoderNames {
  const named = (name: string): string => renamed[name] ?? name;
  const embedding = `${named("embed_tokens")}.weight`;
  const prefix = PREFIXES.find((each) => has(`${each}${embedding}`));
  if (prefix === undefined)
    throw new HalfbyteError("ERR_MISSING", "the checkpoint has no embedding", {
      place: "model.embed_tokens.weight",
      remedy: "is it a language model in the layout of transformers?",
    });
  return {
    embedding: prefix + embedding,
    finalNorm: `${prefix}norm.weight`,
    output: prefix.startsWith("language_model.") ? "language_model.lm_head.weight" : "lm_head.weight",
    layer(l) {
      const of = (name: string): string => `${prefix}layers.${l}.${name}`;
      return {
        attentionNorm: of("input_layernorm.weight"),
        q: of("self_attn.q_proj"),
        k: of("self_attn.k_proj"),
        v: of("self_attn.v_proj"),
        qkv: of(named("self_attn.qkv_proj")),
        headGate: of("self_attn.g_proj"),
        output: of(named("self_attn.o_proj")),
        qNorm: of("self_attn.q_norm.weight"),
        kNorm: of("self_attn.k_norm.weight"),
        postAttentionNorm: of("post_attention_layernorm.weight"),
        mlpNorm: of(postNorms ? "pre_feedforward_layernorm.weight" : "post_attention_layernorm.weight"),
        gate: of("mlp.gate_proj"),
        up: of("mlp.up_proj"),
        gateUp: of("mlp.gate_up_proj"),
        down: of("mlp.down_proj"),
        postMlpNorm: of("post_feedforward_layernorm.weight"),
      };
    },
  };
}
