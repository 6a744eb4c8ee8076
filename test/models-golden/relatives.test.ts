import { fileURLToPath } from "node:url";
import { describe, expect, it } from "vitest";
import { newTensor, type Tensor } from "../../src/formats/encodings/tensors.ts";
import { safetensorsFloats } from "../../src/formats/read-tensor.ts";
import { openModel } from "../../src/models/open-model.ts";
import { filesOf, openFiles } from "../quantized-folder.ts";
import { folderFromGguf } from "./folder-from-gguf.ts";
import { load } from "./run-model.ts";

const gguf = fileURLToPath(new URL("../golden/llama-q4_0.gguf", import.meta.url));
const IDS = [5, 7, 11, 13, 17, 19, 23, 29, 31];
const A16 = { activations: "a16", cacheType: "f32", maxRows: 16, maxLogitRows: 16 } as const;

/** A model as numbers by name, and its configuration: what a case changes. */
interface Written {
  readonly weights: Map<string, { readonly shape: readonly number[]; values: Float32Array }>;
  readonly config: Record<string, unknown>;
}

async function llama(): Promise<Written> {
  const folder = await folderFromGguf(gguf, "llama");
  const weights: Written["weights"] = new Map();
  for (const [name, tensor] of folder.tensors)
    weights.set(name, { shape: tensor.shape, values: await safetensorsFloats(tensor) });
  return { weights, config: { ...folder.config } };
}

async function logits(change: (model: Written) => void): Promise<Float32Array> {
  const model = await llama();
  change(model);
  const tensors = new Map<string, Tensor>();
  for (const [name, { shape, values }] of model.weights) tensors.set(name, newTensor("F32", shape, values));
  const opened = await openModel(await openFiles(filesOf({ config: model.config, tensors, json: {} })));
  return (await load(opened, 16, A16)).feed(IDS, "all");
}

/** Numbers of all tensors of that name times a power of two: every bit of a sum but its exponent stays. */
function scale({ weights }: Written, name: RegExp, by: number): void {
  for (const [each, tensor] of weights) if (name.test(each)) tensor.values = tensor.values.map((value) => value * by);
}

function rename({ weights }: Written, from: RegExp, to: string): void {
  for (const [name, tensor] of [...weights]) {
    if (!from.test(name)) continue;
    weights.delete(name);
    weights.set(name.replace(from, to), tensor);
  }
}

/** Tensors of every layer in one, one above the other. */
function fuse({ weights }: Written, parts: readonly string[], into: string): void {
  for (const name of [...weights.keys()].filter((each) => each.endsWith(parts[0]!))) {
    const prefix = name.slice(0, -parts[0]!.length);
    const all = parts.map((part) => weights.get(prefix + part)!);
    for (const part of parts) weights.delete(prefix + part);
    const rows = all.reduce((sum, { shape }) => sum + shape[0]!, 0);
    const values = Float32Array.from(all.flatMap((tensor) => [...tensor.values]));
    weights.set(prefix + into, { shape: [rows, all[0]!.shape[1]!], values });
  }
}

const fuseAll = (model: Written, qkv: string): void => {
  fuse(model, ["q_proj.weight", "k_proj.weight", "v_proj.weight"], `${qkv}.weight`);
};

/** Each model is a Llama where its switches are set so, and must give its bits. */
describe("relatives of Llama", () => {
  it("SmolLM3 whose layers all turn, and not where one does not", async () => {
    const smollm3 = (turns: number[]) => (model: Written) =>
      void Object.assign(model.config, { model_type: "smollm3", rope_theta: 100_000, no_rope_layers: turns });
    const layers = (await llama()).config.num_hidden_layers as number;
    const all = new Array<number>(layers).fill(1);
    const truth = await logits(() => {});
    expect(await logits(smollm3(all))).toEqual(truth);
    expect(await logits(smollm3([...all.slice(1), 0]))).not.toEqual(truth);
  });

  it("Granite whose multipliers are powers of two", async () => {
    const granite = (model: Written): void => {
      const headSize = model.config.head_dim as number;
      Object.assign(model.config, {
        model_type: "granite",
        embedding_multiplier: 4,
        residual_multiplier: 0.5,
        attention_multiplier: 2 * headSize ** -0.5,
        logits_scaling: 2,
      });
    };
    const scaled = (model: Written): void => {
      // The output matrix is the embedding: 4 times as large, and its logits half as large.
      scale(model, /embed_tokens/, 4);
      scale(model, /(o|down)_proj/, 0.5);
      scale(model, /q_proj/, 2);
      scale(model, /^model.norm/, 0.125);
    };
    expect(await logits(granite)).toEqual(await logits(scaled));
  });

  it("Phi-3 with its tensors fused, by short factors that divide nothing", async () => {
    const half = ((await llama()).config.head_dim as number) / 2;
    const factors = (value: number): number[] => new Array<number>(half).fill(value);
    const phi3 = (original: number) => (model: Written) => {
      fuseAll(model, "qkv_proj");
      fuse(model, ["gate_proj.weight", "up_proj.weight"], "gate_up_proj.weight");
      const rope = { type: "longrope", short_factor: factors(1), long_factor: factors(2), attention_factor: 1 };
      const sizes = { original_max_position_embeddings: original, rope_theta: 100_000 };
      Object.assign(model.config, { model_type: "phi3", ...sizes, rope_scaling: rope });
    };
    const linear = (model: Written) =>
      void Object.assign(model.config, { rope_scaling: { rope_type: "linear", factor: 2 } });
    expect(await logits(phi3(256))).toEqual(await logits(() => {}));
    expect(await logits(phi3(128))).toEqual(await logits(linear));
  });

  it("Llama with YaRN that stretches nothing, and with a band that is beyond all frequencies", async () => {
    const yarn = (values: object) => (model: Written) =>
      void Object.assign(model.config, { rope_scaling: { rope_type: "yarn", attention_factor: 1, ...values } });
    const truth = await logits(() => {});
    expect(await logits(yarn({ factor: 1 }))).toEqual(truth);
    expect(await logits(yarn({ factor: 4 }))).not.toEqual(truth);
  });

  it("Spark whose gates are half open, under its own names", async () => {
    const spark = (model: Written): void => {
      const { num_attention_heads: heads, num_hidden_layers: layers, hidden_size: hidden } = model.config;
      fuseAll(model, "q_k_v_proj");
      rename(model, /embed_tokens/, "embedding");
      rename(model, /o_proj/, "out_proj");
      for (let l = 0; l < (layers as number); l++)
        model.weights.set(`model.layers.${l}.self_attn.g_proj.weight`, {
          shape: [heads as number, hidden as number],
          values: new Float32Array((heads as number) * (hidden as number)),
        });
      Object.assign(model.config, {
        model_type: "spark2_5",
        hidden_act: "silu",
        headwise_attn_output_gate: true,
        layer_types: new Array<string>(layers as number).fill("full_attention"),
        rope_parameters: { full_attention: { rope_theta: 100_000, partial_rotary_factor: 1 } },
      });
    };
    expect(await logits(spark)).toEqual(await logits((model) => scale(model, /o_proj/, 0.5)));
  });
});
