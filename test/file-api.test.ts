import { mkdtemp, readdir, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import packageJson from "../package.json" with { type: "json" };
import { convert } from "../src/convert/index.ts";
import { diff } from "../src/evaluate/index.ts";
import { quantize } from "../src/quantize/index.ts";

const MODEL = fileURLToPath(new URL("golden/llama-q4_0.gguf", import.meta.url));

describe("from a program", () => {
  let folder: string;
  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), "halfbyte-file-api-"));
  });
  afterAll(() => rm(folder, { recursive: true, force: true }));

  it("halfbyte/convert writes the same weights, and nothing where it cannot", async () => {
    const phases = new Set<string>();
    const onProgress = (phase: string): void => void phases.add(phase);
    const report = await convert(MODEL, join(folder, "floats"), { to: "f32", onProgress });
    expect(report).toMatchObject({ bytes: expect.any(Number), rounded: [] });
    expect([...phases]).toEqual(["check", "write"]);
    expect(await diff(MODEL, join(folder, "floats"))).toMatchObject({ equal: true });
    await expect(convert(MODEL, join(folder, "none"), { to: "int3" })).rejects.toMatchObject({ code: "ERR_ARGUMENT" });
    expect(await readdir(folder)).toEqual(["floats"]);
  });

  it("halfbyte/quantize makes a model that opens", async () => {
    const options = { encoding: "compressed-tensors", method: "search", groupSize: 32 } as const;
    const { quantized } = await quantize(MODEL, join(folder, "int4"), options);
    const { tensors } = await diff(MODEL, join(folder, "int4"));
    expect(tensors.filter(({ equal }) => !equal).length).toBeLessThanOrEqual(quantized.length);
    await expect(quantize(join(folder, "no"), join(folder, "x"), options)).rejects.toMatchObject({
      code: "ERR_MISSING",
    });
  });

  it("both are entries of the package", () => {
    for (const name of ["convert", "quantize"] as const)
      expect(packageJson.exports[`./${name}`]).toEqual({
        types: `./dist/${name}/index.d.ts`,
        default: `./dist/${name}/index.js`,
      });
  });
});
