import { mkdtemp, readdir, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { filesOf, openFiles, quantizedLlama } from "../../test/quantized-folder.ts";
import { forEachPosition } from "../evaluate/teacher-forced.ts";
import { wasmExecutor } from "../executors/wasm/wasm.ts";
import { newTensor } from "../formats/encodings/tensors.ts";
import { openModelFile } from "../hub/open-model-file.ts";
import { openModel } from "../models/open-model.ts";
import { CALIBRATION_TEXT } from "./calibration/default-text.ts";
import type { QuantizedEncoding } from "./options.ts";
import { type QuantizeModelOptions, type QuantizeReport, quantizeModel } from "./quantize-model.ts";

const golden = (name: string): string => fileURLToPath(new URL(`../../test/golden/${name}`, import.meta.url));
const CALIBRATION = { count: 6, length: 64 };
/** The calibration text's end, as ids of the golden models' byte-level vocabulary or near enough: any ids would do. */
const IDS: Int32Array = Int32Array.from({ length: 96 }, (_, i) => 3 + ((i * 37) % 500));

let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "halfbyte-quantize-"));
});
afterAll(() => rm(folder, { recursive: true }));

async function quantize(input: string, output: string, options: QuantizeModelOptions): Promise<QuantizeReport> {
  const { file } = await openModelFile(input);
  try {
    return await quantizeModel(file, join(folder, output), { force: true, calibration: CALIBRATION, ...options });
  } finally {
    await file.close();
  }
}

async function logits(path: string): Promise<Float32Array> {
  const { file } = await openModelFile(path);
  const model = await openModel(file);
  const plan = model.compile({ maxLogitRows: 32, activations: "a16" });
  const runner = await wasmExecutor.load(plan, model.weights, { threads: 1 });
  const all = new Float32Array(IDS.length * plan.vocabularySize);
  await forEachPosition(runner, IDS, (position, row) => all.set(row, position * plan.vocabularySize));
  await runner.dispose();
  await file.close();
  return all;
}

/** Norm of the difference over the norm of the reference. */
function distance(a: Float32Array, reference: Float32Array): number {
  const sum = (values: Float32Array): number => values.reduce((total, value) => total + value * value, 0);
  return Math.sqrt(sum(a.map((value, i) => value - reference[i]!)) / sum(reference));
}

/** Random weights suffer much: what matters is that the file means what was made, not how good 4 bits are for them. */
const STILL_THE_MODEL = 0.7;

const ENCODINGS: QuantizedEncoding[] = [
  "cpu_int4",
  "gptq",
  "gptq_v2",
  "awq",
  "compressed-tensors",
  "gguf:q4_0",
  "gguf:q4_1",
];

describe.each(["llama-q4_0.gguf", "gemma3-q4_0.gguf"])("%s", (name) => {
  it.each(ENCODINGS)("is quantised to %s, and runs from there", async (encoding) => {
    const output = encoding.startsWith("gguf") ? "out.gguf" : "out";
    const options = { encoding, method: "search", groupSize: 32 } as const;
    const { quantized, kept } = await quantize(golden(name), output, options);
    expect(quantized.length % 7).toBe(0);
    expect(kept).toEqual(["token_embd.weight"]);
    const got = distance(await logits(join(folder, output)), await logits(golden(name)));
    expect(got).toBeLessThan(STILL_THE_MODEL);
  });

  it("errs less by a calibration text than by rounding alone", async () => {
    const reference = await logits(golden(name));
    const errors: number[] = [];
    for (const method of ["rtn", "awq", "gptq"] as const) {
      const { calibration } = await quantize(golden(name), method, { encoding: "cpu_int4", method, groupSize: -1 });
      expect(calibration?.tokens).toBe(method === "rtn" ? undefined : CALIBRATION.count * CALIBRATION.length);
      errors.push(distance(await logits(join(folder, method)), reference));
    }
    expect(errors[1]).toBeLessThan(errors[0]!);
    expect(errors[2]).toBeLessThan(errors[0]!);
  });

  it.each(["gptq", "awq"] as const)("by %s, interrupted, is taken up again and comes out the same", async (method) => {
    const options = { encoding: "compressed-tensors", method, groupSize: 32 } as const;
    const parts = `parts-${method}-${name}`;
    await quantize(golden(name), `whole-${method}-${name}`, options);
    const interrupt = new AbortController();
    const onProgress = (phase: string, done: number, total: number): void => {
      if (phase === "quantize" && done > total / 3) interrupt.abort();
    };
    const interrupted = { ...options, signal: interrupt.signal, onProgress };
    await expect(quantize(golden(name), parts, interrupted)).rejects.toMatchObject({ name: "AbortError" });
    expect(await readdir(folder)).not.toContain(parts);
    expect(await readdir(folder)).toContain(`.${parts}.quantizing`);
    const { calibration } = await quantize(golden(name), parts, options);
    expect(calibration?.resumed).toBeGreaterThan(0);
    const bytes = (output: string) => readFile(join(folder, output, "model.safetensors"));
    expect(Buffer.compare(await bytes(parts), await bytes(`whole-${method}-${name}`))).toBe(0);
    expect((await readdir(folder)).filter((each) => each.startsWith("."))).toEqual([]);
  });
});

describe("choices", () => {
  it("keep matrices, and give them 8 bits, by name", async () => {
    const { quantized, kept } = await quantize(golden("llama-q4_0.gguf"), "mixed", {
      encoding: "compressed-tensors",
      method: "rtn",
      groupSize: 32,
      keep: ["blk.0.ffn_*"],
      eightBits: ["attn_v"],
      embedding: 8,
    });
    expect(kept).toEqual(["gate", "up", "down"].map((each) => `blk.0.ffn_${each}.weight`));
    expect(quantized).toContain("token_embd.weight");
    const { file } = await openModelFile(join(folder, "mixed"));
    const { weights } = await openModel(file);
    const bits = (matrix: string): unknown => {
      const { like } = weights.matrix(matrix);
      return like.kind === "quantized" ? like.bits : like.type;
    };
    expect(bits("model.layers.0.self_attn.v_proj.weight")).toBe(8);
    expect(bits("model.layers.0.self_attn.q_proj.weight")).toBe(4);
    expect(bits("model.embed_tokens.weight")).toBe(8);
    expect(bits("model.layers.0.mlp.up_proj.weight")).toMatch(/16|32/);
    await file.close();
  });

  it.each<[Partial<QuantizeModelOptions>, RegExp]>([
    [{ groupSize: 64 }, /blk\.0\.attn_q\.weight: groups of 64 do not divide 96 inputs/],
    [{ groupSize: 20 }, /group size.*multiple of 16/],
    [{ encoding: "awq", bits: 8 }, /^--bits: awq has no weights of 8 bits; possible with --to gptq, .*gguf:q8_0$/],
    [{ encoding: "cpu_int4", symmetric: true }, /^--symmetric: cpu_int4 always has zero.*compressed-tensors/],
    [{ encoding: "gguf:q4_0", symmetric: false }, /^--asymmetric: gguf:q4_0 always has no zero points;.*gguf:q4_1/],
    [{ encoding: "cpu_int4", eightBits: ["down"] }, /^--bits8: cpu_int4 has no weights of 8 bits; possible with/],
    [{ encoding: "gguf:q8_0", embedding: 4 }, /^--embedding 4: gguf:q8_0/],
    [{ encoding: "gguf:q4_0", groupSize: 64 }, /32, all that/],
    [{ method: "magic" as "rtn" }, /method/],
    [{ damping: 0 }, /damping/],
    [{ keep: ["blk.0.*", "nosuch"] }, /^--keep: .*expected a name such as .*attn_q.*, got nosuch$/],
    [{ eightBits: ["ffn_dow"] }, /^--bits8: .*ffn_down.*, got ffn_dow$/],
    [{ eightBits: ["token_embd"] }, /^--bits8: no matrix that is quantised/],
    [{ method: "gptq", calibration: { text: "Too short." } }, /calibration text.*256 tokens/],
    [{ method: "gptq", calibration: { text: CALIBRATION_TEXT, length: 5 } }, /16 to 4096/],
  ])("are refused where they cannot be: %o", async (options, message) => {
    const all = { encoding: "compressed-tensors", method: "rtn", groupSize: 32, ...options } as const;
    await expect(quantize(golden("llama-q4_0.gguf"), "refused", all)).rejects.toThrow(message);
    expect((await readdir(folder)).filter((each) => each.includes("refused.") || each === "refused")).toEqual([]);
  });
});

describe("weights", () => {
  const model = (change: (values: Float32Array) => void) => {
    const values = Float32Array.from({ length: 96 * 64 }, (_, i) => Math.sin(i));
    change(values);
    const written = quantizedLlama(undefined, (matrix) => {
      const { N, K } = matrix;
      return { weight: newTensor("F32", [N, K], values.slice(0, N * K)) };
    });
    return openFiles(filesOf(written));
  };

  it.each([NaN, Infinity, 3e38])("that are %s are refused by name, and nothing is left", async (bad) => {
    const file = await model((values) => void (values[70] = bad));
    const quantizing = quantizeModel(file, join(folder, "bad"), { encoding: "cpu_int4", method: "rtn", groupSize: 32 });
    await expect(quantizing).rejects.toMatchObject({
      code: "ERR_NON_FINITE",
      place: /layers\.0\..+weight/,
      got: /row 1, column 6/,
    });
    expect((await readdir(folder)).filter((each) => each.includes("bad"))).toEqual([]);
  });

  it.each([
    ["model.norm.weight", { encoding: "cpu_int4" }],
    ["model.embed_tokens.weight", { encoding: "compressed-tensors" }],
    ["model.layers.0.mlp.up_proj.weight", { encoding: "gguf:q4_0", keep: ["up_proj"] }],
  ] as const)("are looked at where they are kept, too: %s", async (name, options) => {
    const written = quantizedLlama(undefined, ({ N, K }) => ({
      weight: newTensor(
        "F32",
        [N, K],
        Float32Array.from({ length: N * K }, (_, i) => Math.sin(i)),
      ),
    }));
    const { shape } = written.tensors.get(name)!;
    const values = new Float32Array(shape.reduce((product, size) => product * size, 1));
    values[values.length - 1] = NaN;
    written.tensors.set(name, newTensor("F32", shape, values));
    const quantizing = quantizeModel(await openFiles(filesOf(written)), join(folder, "bad"), {
      method: "rtn",
      groupSize: 32,
      ...options,
    });
    const at = shape.length === 1 ? `${shape[0]! - 1}` : `row ${shape[0]! - 1}, column ${shape[1]! - 1}`;
    await expect(quantizing).rejects.toMatchObject({ code: "ERR_NON_FINITE", place: name, got: `NaN at ${at}` });
    expect((await readdir(folder)).filter((each) => each.includes("bad"))).toEqual([]);
  });

  it.each(["cpu_int4", "compressed-tensors", "gptq_v2"] as const)(
    "that are all 0, or all the same, are held by %s",
    async (encoding) => {
      for (const value of [0, 0.5]) {
        const file = await model((values) => void values.fill(value));
        await quantizeModel(file, join(folder, "flat"), { encoding, method: "search", groupSize: 32, force: true });
        const { file: made } = await openModelFile(join(folder, "flat"));
        const { weights } = await openModel(made);
        const { like: _, ...source } = weights.matrix("model.layers.0.mlp.down_proj.weight");
        const rows = await source.readRows(0, source.N);
        expect(rows.kind).toBe("quantized");
        await made.close();
      }
    },
  );
});
