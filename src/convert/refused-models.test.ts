import { readFile } from "node:fs/promises";
import { fileURLToPath } from "node:url";
import { describe, expect, it } from "vitest";
import { randomMatrix } from "../../test/encodings.ts";
import { MemoryFolder, MemorySink } from "../../test/memory-output.ts";
import type { ModelFile } from "../../test/model-weights.ts";
import { filesOf, openFiles, quantizedLlama, type WrittenFolder } from "../../test/quantized-folder.ts";
import { newTensor } from "../formats/encodings/tensors.ts";
import { openGguf } from "../formats/gguf/open-gguf.ts";
import { memorySource } from "../formats/memory-source.ts";
import type { MatrixSource } from "../weights/matrix-source.ts";
import { conversionTarget, planConversion } from "./convert.ts";
import { planFolder } from "./plan-folder.ts";
import { planGguf } from "./plan-gguf.ts";

const floats = (): WrittenFolder =>
  quantizedLlama(undefined, ({ N, K }) => ({ weight: newTensor("F32", [N, K], new Float32Array(N * K).fill(0.5)) }));
const plan = async (model: WrittenFolder, to: string) =>
  planConversion(await openFiles(filesOf(model)), conversionTarget(to));

describe("a folder that would not run", () => {
  it("is refused where it has not the layers that its configuration says", async () => {
    const model = floats();
    model.config.num_hidden_layers = 2;
    await expect(plan(model, "f32")).rejects.toMatchObject({
      name: "HalfbyteError",
      message: expect.stringMatching(/model\.layers\.1/),
    });
  });

  it("is refused where it is a rank's share", async () => {
    const model = floats();
    model.config.halfbyte_shard = { rank: 0, of: 2 };
    await expect(plan(model, "f32")).rejects.toThrow(/cannot answer alone/);
  });

  it("is converted where its architecture is unknown, and that is said", async () => {
    const model = floats();
    model.config.model_type = "mamba";
    const { notes, bytes } = await plan(model, "f32");
    expect(bytes).toBeGreaterThan(0);
    expect(notes).toEqual([expect.stringMatching(/^not checked.*does not know the architecture "mamba"/)]);
  });
});

describe("floats", () => {
  const MODEL = fileURLToPath(new URL("../../test/golden/llama-q4_0.gguf", import.meta.url));
  const again = async (file: ModelFile, to: string): Promise<ModelFile> => {
    const conversion = await planConversion(file, conversionTarget(to));
    if (conversion.format === "folder") {
      const folder = new MemoryFolder();
      await conversion.write(folder);
      return folder.open();
    }
    const sink = new MemorySink();
    await conversion.write(sink);
    return openGguf(memorySource(sink.bytes, "out.gguf"));
  };

  it.each(["f32", "gguf:f32"])("of %s are not called blocks that they are not", async (from) => {
    const file = await again(await openGguf(memorySource(await readFile(MODEL), "model.gguf")), from);
    for (const lossy of [false, true])
      await expect(planConversion(file, conversionTarget("gguf:q8_0"), { lossy })).rejects.toMatchObject({
        code: "ERR_UNSUPPORTED",
        message: expect.stringMatching(/nothing here is quantised, so that nothing becomes Q8_0.*halfbyte quantize/),
      });
  });
});

describe("what an encoding has no place for", () => {
  const [N, K] = [64, 64];
  const { matrix } = randomMatrix(1, N, K, 32, {
    bits: 4,
    scale: "bf16",
    scaleBits: 8,
    zeros: "middle",
    offsets: true,
  });
  const named = (name: string): MatrixSource => {
    const rows = (first: number, count: number) => {
      const cut = <T extends { subarray(a: number, b: number): T }>(values: T, width: number): T =>
        values.subarray(first * width, (first + count) * width);
      const { scale, offset } = matrix;
      const of = (values: typeof scale) => ({
        ...values,
        values: cut((values as { values: Uint16Array }).values, K / 32),
      });
      return {
        ...matrix,
        N: count,
        codes: cut(matrix.codes, K),
        scale: of(scale),
        offset: of(offset!),
      } as typeof matrix;
    };
    return { name, N, K, rowBytes: K / 2, like: rows(0, 0), readRows: async (first, count) => rows(first, count) };
  };

  it("becomes floats of a GGUF file, and how much they are is said", async () => {
    const { notes, outgoing } = await planGguf([{ name: "a.weight", matrix: named("a.weight") }], undefined);
    const bytes = outgoing[0]!.tensors[0]!.byteLength;
    expect(bytes).toBeGreaterThan((N * K) / 2);
    expect(notes).toEqual([
      expect.stringMatching(/^1 matrix became F32 and grew from 0.00 MB to 0.02 MB: no smaller type of GGUF/),
    ]);
  });

  it("is said to be rounded where it was", async () => {
    const items = ["model.layers.0.mlp.up_proj.weight", "lm_head.weight"].map((name) => ({
      name,
      matrix: named(name),
    }));
    const { notes, rounded } = await planFolder(items, "awq", { lossy: true });
    expect(rounded).toContain("lm_head.weight");
    expect(notes).toEqual(["floats that are rounded, since awq has no place for it as it is: lm_head"]);
  });
});
