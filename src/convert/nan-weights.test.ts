import { expect, it } from "vitest";
import { filesOf, openFiles, quantizedLlama } from "../../test/quantized-folder.ts";
import { newTensor } from "../formats/encodings/tensors.ts";
import type { HuggingFaceFolder } from "../formats/safetensors/hugging-face-folder.ts";
import { conversionTarget, planConversion } from "./convert.ts";

const NORM = "model.norm.weight";

function model(norm: number): Promise<HuggingFaceFolder> {
  const written = quantizedLlama(undefined, ({ N, K }) => ({
    weight: newTensor("F32", [N, K], new Float32Array(N * K).fill(0.5)),
  }));
  written.tensors.set(NORM, newTensor("F32", [64], new Float32Array(64).fill(norm).fill(NaN, 60)));
  return openFiles(filesOf(written));
}

it.each(["f16", "bf16"])("NaN stays NaN in %s, which is no loss and is said", async (type) => {
  const { rounded, notes } = await planConversion(await model(1), conversionTarget(type));
  expect(rounded).not.toContain(NORM);
  expect(notes).toContain(`weights that are NaN, and stay so: ${NORM}`);
});

it("NaN is said of what is rounded, too", async () => {
  const target = conversionTarget("bf16");
  await expect(planConversion(await model(0.1), target)).rejects.toMatchObject({ place: NORM });
  const { rounded, notes } = await planConversion(await model(0.1), target, { lossy: true });
  expect(rounded).toContain(NORM);
  expect(notes.join()).toContain(NORM);
});
