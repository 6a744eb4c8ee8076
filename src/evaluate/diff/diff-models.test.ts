import { fileURLToPath } from "node:url";
import { describe, expect, it } from "vitest";
import { goldenPath } from "../../../test/golden-data.ts";
import { folderFromGguf } from "../../../test/models-golden/folder-from-gguf.ts";
import { openFolder, openGgufFile } from "../../../test/models-golden/run-model.ts";
import { filesOf, openFiles, quantizedLlama, type WrittenFolder } from "../../../test/quantized-folder.ts";
import { encodeAwq } from "../../formats/encodings/awq.ts";
import { encodeGptq } from "../../formats/encodings/gptq.ts";
import { newTensor } from "../../formats/encodings/tensors.ts";
import { type OpenModel, openModel } from "../../models/open-model.ts";
import type { QuantizedMatrix } from "../../weights/quantized-matrix.ts";
import { matrixRowToFloat } from "../../weights/unpack.ts";
import { diffModels, type TensorDifference } from "./diff-models.ts";

const tinyGguf = (name: string): string =>
  fileURLToPath(new URL(`../../../test/golden/${name}-q4_0.gguf`, import.meta.url));
const open = async (written: WrittenFolder): Promise<OpenModel> => openModel(await openFiles(filesOf(written)));
const gptq = (matrix: QuantizedMatrix): ReturnType<typeof encodeGptq> => encodeGptq({ matrix }, "v1");

const byRole = (tensors: readonly TensorDifference[], role: string): TensorDifference | undefined =>
  tensors.find((tensor) => tensor.role === role);

describe.each(["llama", "gemma3"])("tiny %s as GGUF and as floats in the layout of the hub", (name) => {
  it("are equal, though rows of heads and norms stand otherwise", async () => {
    const a = await openGgufFile(tinyGguf(name));
    const b = await openModel(await folderFromGguf(tinyGguf(name), name));
    const { equal, tensors } = await diffModels(a, b);
    expect(equal).toBe(true);
    expect(new Set(tensors.map(({ a }) => a!.name))).toEqual(
      new Set([...a.weights.layouts.keys(), ...a.weights.vectorLengths.keys()]),
    );
    expect(byRole(tensors, "layers.0.q")).toMatchObject({
      a: { name: "blk.0.attn_q.weight", encoding: "4-bit, f16 scales per 32", bits: 4.5 },
      b: { name: "model.layers.0.self_attn.q_proj.weight", encoding: "f32", bits: 32 },
      difference: { differing: 0, rms: 0, max: 0, cosine: 1 },
    });
    expect((await diffModels(b, a)).equal).toBe(true);
  });
});

describe("a difference", () => {
  const written = (): WrittenFolder =>
    quantizedLlama({ quant_method: "gptq", bits: 4, group_size: 32, sym: true }, gptq);

  it("is none between encodings of the same values", async () => {
    const matrices = new Map<string, QuantizedMatrix>();
    const config = { quant_method: "gptq", bits: 4, group_size: 32, sym: true };
    const one = quantizedLlama(config, (matrix, name) => {
      matrices.set(name, matrix);
      return gptq(matrix);
    });
    const awqConfig = { quant_method: "awq", bits: 4, group_size: 32, version: "gemm" };
    const awq = quantizedLlama(awqConfig, (_, name) => encodeAwq(matrices.get(name)!));
    expect(await diffModels(await open(one), await open(awq))).toMatchObject({ equal: true });
  });

  it("has the numbers that plain f64 gives, the largest first", async () => {
    const changed = written();
    const name = "model.layers.0.mlp.up_proj";
    const [a, other] = [await open(written()), await open(changed)];
    const source = other.weights.matrix(`${name}.weight`);
    const { N, K } = source;
    const values = new Float32Array(N * K);
    const matrix = await source.readRows(0, N);
    for (let n = 0; n < N; n++) matrixRowToFloat(matrix, n, values.subarray(n * K, (n + 1) * K));
    const before = values.slice();
    for (let i = 5; i < values.length; i += 7) values[i]! += 0.01 * (i % 3);
    for (const end of ["qweight", "qzeros", "scales", "g_idx"]) changed.tensors.delete(`${name}.${end}`);
    changed.tensors.set(`${name}.weight`, newTensor("F32", [N, K], values));
    const norm = "model.layers.0.input_layernorm.weight";
    changed.tensors.set(norm, newTensor("F32", [64], new Float32Array(64).fill(3)));

    const { equal, tensors } = await diffModels(a, await open(changed));
    expect(equal).toBe(false);
    expect(tensors.slice(0, 2).map(({ role }) => role)).toEqual(["layers.0.attention_input", "layers.0.up"]);
    expect(tensors.slice(2).every((tensor) => tensor.equal)).toBe(true);
    const rms = (all: ArrayLike<number>): number =>
      Math.sqrt(Array.from(all).reduce((sum, x) => sum + x * x, 0) / all.length);
    const differences = Float64Array.from(values, (x, i) => x - before[i]!);
    const product = values.reduce((sum, x, i) => sum + x * before[i]!, 0);
    expect(tensors[1]).toMatchObject({
      equal: false,
      difference: {
        values: N * K,
        differing: differences.filter((x) => x !== 0).length,
        rms: expect.closeTo(rms(differences) / rms(before), 12),
        max: expect.closeTo(Math.max(...differences.map(Math.abs)) / rms(before), 12),
        cosine: expect.closeTo(product / (rms(values) * rms(before) * values.length), 12),
      },
    });
  });

  it("is also a tensor that only one of them has, or of another shape", async () => {
    const biased = written();
    biased.config.attention_bias = true;
    for (const [part, length] of [
      ["q", 64],
      ["k", 32],
      ["v", 32],
      ["o", 64],
    ] as const)
      biased.tensors.set(
        `model.layers.0.self_attn.${part}_proj.bias`,
        newTensor("F32", [length], new Float32Array(length).fill(1)),
      );
    const [a, b] = [await open(written()), await open(biased)];
    const { equal, tensors } = await diffModels(a, b);
    expect(equal).toBe(false);
    const added = byRole(tensors, "layers.0.k.bias");
    expect(added).toMatchObject({ equal: false, b: { shape: [32] } });
    expect(added).not.toHaveProperty("a");
    expect(byRole((await diffModels(b, a)).tensors, "layers.0.k.bias")).not.toHaveProperty("b");
  });

  it("counts what is not finite apart, and measures the rest", async () => {
    const norm = "model.layers.0.input_layernorm.weight";
    const withNorm = (...values: number[]): Promise<OpenModel> => {
      const changed = written();
      const all = Float32Array.from({ length: 64 }, (_, i) => values[i] ?? 1);
      changed.tensors.set(norm, newTensor("F32", [64], all));
      return open(changed);
    };
    const [a, b] = [await withNorm(NaN, Infinity, 1, 1), await withNorm(NaN, 1, NaN, 1.5)];
    const { equal, tensors } = await diffModels(a, b);
    expect(equal).toBe(false);
    expect(tensors[0]).toMatchObject({ role: "layers.0.attention_input", equal: false });
    expect(tensors[0]!.difference).toMatchObject({ differing: 3, values: 64, nonFinite: { a: 2, b: 2 }, max: 0.5 });
    expect(tensors[0]!.difference!.rms).toBeCloseTo(0.5 / Math.sqrt(61), 12);
    expect(tensors[0]!.difference!.cosine).toBeGreaterThan(0.99);
    expect((await diffModels(a, a)).tensors.every(({ difference }) => difference!.rms === 0)).toBe(true);
    expect((await diffModels(a, a)).equal).toBe(true);
  });

  it("cannot be told of two architectures", async () => {
    const models = [await openGgufFile(tinyGguf("llama")), await openGgufFile(tinyGguf("gemma3"))] as const;
    await expect(diffModels(...models)).rejects.toMatchObject({
      code: "ERR_ARGUMENT",
      expected: "llama",
      got: "gemma3",
    });
  });

  it("ends where it is aborted", async () => {
    const model = await openGgufFile(tinyGguf("llama"));
    const signal = AbortSignal.abort(new Error("away"));
    await expect(diffModels(model, model, { signal })).rejects.toThrow("away");
  });
});

const tiny = goldenPath("golden-models", "tiny", "llama");
const twin = goldenPath("golden-models", "twins", "llama");

describe.skipIf(!tiny || !twin)("golden twins (needs ../shared/golden-models)", () => {
  it("differ from their source by their step, and by nothing where they are not quantised", async () => {
    const [source, quantized] = [await openFolder(tiny!), await openFolder(`${twin}/cpu_int4`)];
    const { tensors } = await diffModels(source, quantized);
    const differing = tensors.filter(({ equal }) => !equal);
    // Every matrix of every layer but the one that was left alone, and not the embedding.
    expect(differing).toHaveLength(7 * source.config.layers.length - 1);
    expect(byRole(tensors, "layers.1.down")!.equal).toBe(true);
    for (const { difference } of differing) {
      // Normal weights in 15 steps from least to largest of 32: a step is 4.1 / 15 of their deviation, its error step / √12.
      expect(difference!.rms).toBeGreaterThan(0.06);
      expect(difference!.rms).toBeLessThan(0.1);
    }
  });
});
