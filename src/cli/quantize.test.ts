import { mkdtemp, readdir, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { KeptMatrices } from "../quantize/kept-matrices.ts";
import { type QuantizeCommandOptions, quantize } from "./quantize.ts";

const MODEL = fileURLToPath(new URL("../../test/golden/llama-q4_0.gguf", import.meta.url));
const RTN: QuantizeCommandOptions = { to: "cpu_int4", method: "rtn", group: 32, embedding: "keep" };

describe("halfbyte quantize", () => {
  let folder: string;
  let said: string;
  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), "halfbyte-quantize-command-"));
    said = "";
    vi.spyOn(process.stdout, "write").mockReturnValue(true);
    vi.spyOn(process.stderr, "write").mockImplementation((text) => {
      said += text;
      return true;
    });
  });
  afterEach(async () => {
    vi.restoreAllMocks();
    await rm(folder, { recursive: true, force: true });
  });

  it.each<[Partial<QuantizeCommandOptions>, string]>([
    [{ calibration: "chats.txt" }, "--calibration: has no effect with --method rtn; expected --method awq or gptq"],
    [{ sampleTokens: 64, method: "search" }, "--sample-tokens: has no effect with --method search"],
    [{ damping: 0.1, method: "awq" }, "--damping: has no effect with --method awq; expected --method gptq"],
    [{ plainOrder: true }, "--plain-order: has no effect with --method rtn"],
  ])("refuses what has no effect: %o", async (options, message) => {
    const quantizing = quantize(MODEL, join(folder, "out"), { ...RTN, ...options }, new AbortController().signal);
    await expect(quantizing).rejects.toThrow(message);
    expect(await readdir(folder)).toEqual([]);
  });

  it("says that it was interrupted", async () => {
    const interrupt = AbortSignal.abort(new DOMException("interrupted", "AbortError"));
    await expect(quantize(MODEL, join(folder, "out"), RTN, interrupt)).rejects.toThrow();
    expect(said).toBe("interrupted\n");
    expect(await readdir(folder)).toEqual([]);
  });

  it("says why matrices cannot be kept beside the output", async () => {
    await expect(KeptMatrices.open(join(MODEL, "out"), "key")).rejects.toMatchObject({
      code: "ERR_IO",
      message: expect.stringMatching(/cannot keep matrices beside the output: E(NOTDIR|EXIST): [a-z ]+$/),
    });
  });
});
