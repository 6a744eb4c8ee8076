import { readFile } from "node:fs/promises";
import { fileURLToPath } from "node:url";
import { describe, expect, it } from "vitest";
import { goldenPath } from "../../test/golden-data.ts";
import { goldenTensors } from "../../test/models-golden/golden-tensors.ts";
import { openFolder, openGgufFile } from "../../test/models-golden/run-model.ts";
import { referenceExecutor } from "../executors/reference/reference.ts";
import { openGguf } from "../formats/gguf/open-gguf.ts";
import { memorySource } from "../formats/memory-source.ts";
import type { NamedFile } from "./candidate.ts";
import { evaluateFiles } from "./evaluate-files.ts";
import { layerStates, relativeError } from "./layer-states.ts";
import { measure, type Subject } from "./measure.ts";

async function tiny(name: string): Promise<NamedFile> {
  const path = fileURLToPath(new URL(`../../test/golden/${name}-q4_0.gguf`, import.meta.url));
  return { name, file: await openGguf(memorySource(await readFile(path), path)) };
}

const options = { executor: "reference", text: "The tide comes in twice a day, and twice it goes out." };

describe("an evaluation", () => {
  it("finds nothing between a model and itself", async () => {
    const seen: string[] = [];
    const onProgress = ({ phase, done, total }: { phase: string; done: number; total: number }): void => {
      expect(done).toBeLessThanOrEqual(total);
      seen.push(phase);
    };
    const evaluation = await evaluateFiles([await tiny("llama")], await tiny("llama"), {
      ...options,
      window: 16,
      onProgress,
    });
    const [model] = evaluation.models;
    expect(evaluation).toMatchObject({ window: 16, stride: 8, complete: true, cacheType: "f16" });
    expect(model).toMatchObject({
      name: "llama",
      architecture: "llama",
      activations: "a16",
      predictions: evaluation.predictions,
      comparison: {
        divergence: { mean: 0, max: 0 },
        topOne: { mean: 1 },
        topFive: { mean: 1 },
        layerErrors: [0, 0, 0, 0],
      },
    });
    expect(evaluation.reference!.perplexity).toEqual(model!.perplexity);
    expect(new Set(seen)).toEqual(new Set(["load", "measure"]));
  });

  it("counts the bytes that the file has", async () => {
    const file = await tiny("llama");
    const { models } = await evaluateFiles([file], undefined, options);
    const tensors = [
      ...(file.file.tensors as ReadonlyMap<string, { byteLength: number; shape: readonly number[] }>).values(),
    ];
    const bytes = tensors.reduce((sum, { byteLength }) => sum + byteLength, 0);
    const parameters = tensors.reduce((sum, { shape }) => sum + shape.reduce((product, n) => product * n, 1), 0);
    expect(models[0]).toMatchObject({ parameters, file: { bytes, bitsPerWeight: (8 * bytes) / parameters } });
    expect(models[0]).not.toHaveProperty("comparison");
    // Q4_0 has 4.5 bits; norms are f32.
    expect(models[0]!.file.layerBitsPerWeight).toBeGreaterThan(4.5);
    expect(models[0]!.file.layerBitsPerWeight).toBeLessThan(4.7);
  });

  it("measures several models beside one reference, and shows what 8-bit activations cost", async () => {
    const models = [await tiny("llama"), await tiny("gemma3")];
    const { models: measured, reference } = await evaluateFiles(models, await tiny("llama"), {
      ...options,
      activations: "a8",
    });
    const [llama, gemma] = measured;
    expect(reference).toMatchObject({ activations: "a16" });
    expect(llama!.comparison!.divergence.mean).toBeGreaterThan(0);
    expect(gemma!.comparison!.divergence.mean).toBeGreaterThan(100 * llama!.comparison!.divergence.mean);
    // Six layers of 64 beside three of 96.
    expect(gemma!.comparison).not.toHaveProperty("layerErrors");
  });

  it.each([
    ["an empty text", { text: "" }],
    ["a text of one token", { text: "a", tokens: 1 }],
    ["a window past the context", { window: 100_000 }],
    ["a window of one token", { window: 1 }],
    ["a stride past the window", { window: 16, stride: 17 }],
  ])("is refused for %s", async (_, wrong) => {
    await expect(evaluateFiles([await tiny("llama")], undefined, { ...options, ...wrong })).rejects.toMatchObject({
      code: "ERR_ARGUMENT",
    });
  });

  it("is refused without a model", async () => {
    await expect(evaluateFiles([], undefined, options)).rejects.toMatchObject({ code: "ERR_ARGUMENT" });
  });

  it("gives what was measured when it is stopped, and nothing when it is aborted", async () => {
    const run = async (which: "stop" | "signal") => {
      const controller = new AbortController();
      const text = options.text.repeat(20);
      const onProgress = ({ phase, done }: { phase: string; done: number }): void => {
        if (phase === "measure" && done > 60) controller.abort(new Error("enough"));
      };
      return evaluateFiles([await tiny("llama")], undefined, {
        ...options,
        text,
        window: 32,
        [which]: controller.signal,
        onProgress,
      });
    };
    const part = await run("stop");
    expect(part.complete).toBe(false);
    expect(part.models[0]!.predictions).toBeGreaterThan(30);
    expect(part.models[0]!.predictions).toBeLessThan(part.predictions);
    await expect(run("signal")).rejects.toThrow("enough");
  });
});

const source = goldenPath("golden-models", "tiny", "llama");
const twin = goldenPath("golden-models", "twins", "llama", "gguf");
/** The truth has float activations; these have 16 bits and keys in f32. Divergence here is near 1 nat. */
const DIVERGENCE_TOLERANCE = 2e-3;

describe.skipIf(!source || !twin)("golden twins (needs ../shared/golden-models)", () => {
  it("diverge as the logits of the truth do", async () => {
    const [ofSource, ofTwin] = [
      await goldenTensors(`${source}/golden.safetensors`),
      await goldenTensors(`${twin}/llama-q4_0.golden.safetensors`),
    ];
    const ids = Int32Array.from(ofTwin.get("input_ids")!.values);
    const logs = (row: ArrayLike<number>): number[] => {
      const sum = Array.from(row).reduce((total, x) => total + Math.exp(x), 0);
      return Array.from(row, (x) => x - Math.log(sum));
    };
    let expected = 0;
    for (let i = 0; i + 1 < ids.length; i++) {
      const [p, q] = [ofSource, ofTwin].map((truth) =>
        logs(truth.get("logits")!.values.slice(i * 512, (i + 1) * 512)),
      ) as [number[], number[]];
      expected += p.reduce((sum, log, v) => sum + Math.exp(log) * (log - q[v]!), 0);
    }
    expected /= ids.length - 1;
    const models = [await openFolder(source!), await openGgufFile(`${twin}/llama-q4_0.gguf`)] as const;
    const names = Array.from({ length: 4 }, (_, l) => (l === 0 ? "embedding" : `layers.${l - 1}.output`));
    const subjects: Subject[] = [];
    for (const model of models) {
      const plan = model.compile({ activations: "a16", cacheType: "f32", maxRows: 16, maxLogitRows: 8, keep: names });
      subjects.push({ name: "tiny", runner: await referenceExecutor.load(plan, model.weights) });
    }
    const windows = [{ ids: ids.subarray(0, -1), next: ids.subarray(1) }];
    const { of } = await measure(subjects[0], subjects.slice(1), windows, { names, width: 96 });
    const { divergence, layerErrors } = of[1]!.comparison!;
    expect(expected).toBeGreaterThan(0.01);
    expect(Math.abs(divergence.mean - expected)).toBeLessThan(DIVERGENCE_TOLERANCE * Math.max(1, expected));

    const fed = ids.slice(0, -1);
    const states: Float32Array[][] = [];
    for (const model of models)
      states.push(await layerStates(model, referenceExecutor, fed, { activations: "a16", cacheType: "f32" }));
    const expectedErrors = states[1]!.map((state, l) => relativeError(state, states[0]![l]!));
    expect(layerErrors).toEqual(expectedErrors.map((error) => expect.closeTo(error, 9)));
  });
});
