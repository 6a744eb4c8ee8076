import { fileURLToPath } from "node:url";
import { describe, expect, it } from "vitest";
import { relativeError } from "../../src/evaluate/layer-states.ts";
import { encodeAwq } from "../../src/formats/encodings/awq.ts";
import { encodeCompressed } from "../../src/formats/encodings/compressed-tensors.ts";
import { encodeGptq } from "../../src/formats/encodings/gptq.ts";
import { newTensor, type Tensor } from "../../src/formats/encodings/tensors.ts";
import { openModel } from "../../src/models/open-model.ts";
import type { QuantizedMatrix } from "../../src/weights/quantized-matrix.ts";
import { weightsOf } from "../encodings.ts";
import { A16_TOLERANCE, expectGolden, expectGoldenWithF16Cache, FLOAT_TOLERANCE } from "./check-model.ts";
import { folderFromGguf } from "./folder-from-gguf.ts";
import { load, openGgufFile } from "./run-model.ts";

const golden = (name: string): string => fileURLToPath(new URL(`../golden/${name}`, import.meta.url));

/**
 * 8-bit groups move a weight by half a step at most, 0.4 % of its group's largest, which is some 0.5 % of the weights in
 * the mean; random layers add that up to 1.5 % on llama and 1.9 % on gemma3.
 */
const EIGHT_BIT_TOLERANCE = 3e-2;

describe.each(["llama", "gemma3"])("tiny %s of the project's own golden data", (name) => {
  const gguf = golden(`${name}-q4_0.gguf`);
  const truth = golden(`${name}-q4_0.golden.safetensors`);

  it("gives the truth's logits and text from GGUF in A16", async () => {
    const model = await openGgufFile(gguf);
    await expectGolden(model, truth, A16_TOLERANCE);
    await expectGoldenWithF16Cache(model, truth);
  });

  it("gives them from the same weights as floats in the layout of the hub", async () => {
    await expectGolden(await openModel(await folderFromGguf(gguf, name)), truth, FLOAT_TOLERANCE);
  });

  it("comes close with float weights quantised to 8 bits as they are loaded", async () => {
    const folder = await folderFromGguf(gguf, name);
    const run = async (floatWeights: "keep" | "q8"): Promise<Float32Array> => {
      const model = await openModel(folder, { floatWeights });
      const sequence = await load(model, 48, { activations: "a16", maxRows: 48, maxLogitRows: 48, cacheType: "f32" });
      return sequence.feed([5, 7, 11, 13, 17, 19, 23, 29], "all");
    };
    const error = relativeError(await run("q8"), await run("keep"));
    expect(error).toBeGreaterThan(0);
    expect(error).toBeLessThan(EIGHT_BIT_TOLERANCE);
  });
});

/** Encodings that hold Q4_0 as it is: f16 scales for 32 inputs, and the zero point 8. */
const ENCODINGS: [name: string, config: object, encode: (matrix: QuantizedMatrix) => object][] = [
  ["GPTQ v1", { quant_method: "gptq", bits: 4, group_size: 32, sym: true }, (m) => encodeGptq({ matrix: m }, "v1")],
  [
    "GPTQ v2",
    { quant_method: "gptq", bits: 4, group_size: 32, checkpoint_format: "gptq_v2" },
    (m) => encodeGptq({ matrix: m }, "v2"),
  ],
  ["AWQ", { quant_method: "awq", bits: 4, group_size: 32, version: "gemm" }, encodeAwq],
  [
    "compressed-tensors",
    {
      quant_method: "compressed-tensors",
      format: "pack-quantized",
      ignore: ["lm_head"],
      config_groups: {
        a: {
          targets: ["re:.*(self_attn|mlp)\\..*_proj$"],
          weights: { num_bits: 4, group_size: 32, strategy: "group" },
        },
        b: { targets: ["Embedding"], weights: { num_bits: 8, group_size: 32, strategy: "group" } },
      },
    },
    (m) => encodeCompressed({ matrix: m }),
  ],
];

describe.each(ENCODINGS)("tiny models as %s, quantised embedding and all", (name, config, encode) => {
  it.each(["llama", "gemma3"])("%s gives the truth's logits and text in A16", async (architecture) => {
    // AWQ has no 8-bit codes: the embedding stays as floats there.
    const floats = (m: QuantizedMatrix): Tensor => newTensor("F32", [m.N, m.K], weightsOf(m));
    const model = await openModel(
      await folderFromGguf(golden(`${architecture}-q4_0.gguf`), architecture, {
        quantized: {
          config,
          encode: (m) => (name === "AWQ" && m.bits === 8 ? { weight: floats(m) } : encode(m)) as Record<string, Tensor>,
        },
      }),
    );
    await expectGolden(model, golden(`${architecture}-q4_0.golden.safetensors`), A16_TOLERANCE);
    expect(model.notes).toEqual([]);
  });
});

it("finds gemma3 inside a model that also sees, and lists what it leaves", async () => {
  const model = await openModel(await folderFromGguf(golden("gemma3-q4_0.gguf"), "gemma3", { seeing: true }));
  expect(model.weights.unused).toEqual(["vision_tower.patch.weight"]);
  await expectGolden(model, golden("gemma3-q4_0.golden.safetensors"), FLOAT_TOLERANCE);
});
