import { spawn } from "node:child_process";
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { DEFAULT_TEXT } from "../../src/evaluate/default-text.ts";
import { halfbyte, isBuilt, MAIN, TINY_MODEL } from "./command.ts";

const GEMMA = fileURLToPath(new URL("../golden/gemma3-q4_0.gguf", import.meta.url));
let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "halfbyte-evaluate-"));
});
afterAll(() => rm(folder, { recursive: true, force: true }));

const written = async (name: string, bytes: string | Uint8Array): Promise<string> => {
  await writeFile(join(folder, name), bytes);
  return join(folder, name);
};

describe.skipIf(!isBuilt)("halfbyte evaluate (needs npm run build)", () => {
  it("shows a table, writes a picture, and says on standard error what was counted", async () => {
    const picture = join(folder, "quality.svg");
    const options = ["--against", TINY_MODEL, "--tokens", "40", "--window", "24", "--activations", "a8"];
    const args = ["evaluate", TINY_MODEL, GEMMA, ...options, "--layers", "--picture", picture];
    const { code, stdout, stderr } = await halfbyte(args);
    expect(stderr).toContain(
      "40 tokens, 39 predicted; windows of 24, each 12 further; activations a8, the reference a16",
    );
    expect(code).toBe(0);
    expect(stdout).toMatch(/perplexity +change +KL divergence/);
    expect(stdout).toMatch(/^llama-q4_0\.gguf .* reference$/m);
    expect(stdout).toMatch(/^gemma3-q4_0\.gguf .* ± .*%$/m);
    const svg = await readFile(picture, "utf8");
    expect(svg).toMatch(/^<svg xmlns=/);
    expect(svg).toContain("gemma3-q4_0.gguf, ");
    expect(svg).toContain("prefers-color-scheme:dark");
  });

  it("prints one JSON object", async () => {
    const { code, stdout } = await halfbyte(["evaluate", TINY_MODEL, "--tokens", "30", "--json", "-q"]);
    expect(code).toBe(0);
    expect(JSON.parse(stdout)).toMatchObject({
      text: "default",
      tokens: 30,
      predictions: 29,
      complete: true,
      models: [{ name: "llama-q4_0.gguf", predictions: 29, packed: { bitsPerWeight: expect.any(Number) } }],
    });
  });

  it.each([
    ["a text that is not there", ["--text", "/no/such/text"], 1, "ERR_IO"],
    ["a picture without a reference", ["--picture", "x.svg"], 2, "--against"],
    ["a window past the context", ["--window", "100000000"], 2, "ERR_ARGUMENT"],
    ["a window that is no number", ["--window", "many"], 2, "Not an integer"],
    ["a stride past the window", ["--window", "8", "--stride", "9"], 2, "ERR_ARGUMENT"],
  ])("refuses %s", async (_, args, wanted, told) => {
    const { code, stdout, stderr } = await halfbyte(["evaluate", TINY_MODEL, "--tokens", "9", ...args]);
    expect([code, stdout]).toEqual([wanted, ""]);
    expect(stderr).toContain(told);
  });

  it("refuses texts that are empty, too short or not UTF-8", async () => {
    const empty = await written("empty.txt", "");
    const one = await written("one.txt", "a");
    const bytes = await written("latin1.txt", Uint8Array.of(0x61, 0xe9, 0x62, 0x63));
    for (const [path, code] of [
      [empty, "ERR_ARGUMENT"],
      [one, "ERR_ARGUMENT"],
      [bytes, "ERR_FORMAT"],
    ] as const) {
      const { stderr, stdout } = await halfbyte(["evaluate", TINY_MODEL, "--text", path]);
      expect(stderr).toContain(code);
      expect(stdout).toBe("");
    }
  });

  it("shows what has been measured when it is interrupted", async () => {
    const long = await written("long.txt", DEFAULT_TEXT.repeat(4));
    const args = [MAIN, "evaluate", TINY_MODEL, "--text", long, "--executor", "reference", "--json"];
    const child = spawn(process.execPath, args, { stdio: ["ignore", "pipe", "pipe"] });
    let stdout = "";
    child.stdout.setEncoding("utf8").on("data", (text: string) => (stdout += text));
    child.stderr.setEncoding("utf8").on("data", (text: string) => {
      if (text.includes("measuring:")) child.kill("SIGINT");
    });
    const code = await new Promise((resolve) => child.on("close", resolve));
    expect(code).toBe(130);
    const { complete, predictions, models } = JSON.parse(stdout);
    expect(complete).toBe(false);
    expect(models[0].predictions).toBeGreaterThan(0);
    expect(models[0].predictions).toBeLessThan(predictions);
  });
});

describe.skipIf(!isBuilt)("halfbyte diff (needs npm run build)", () => {
  it("exits with 0 for equal models and 1 for different ones", async () => {
    const same = await halfbyte(["diff", TINY_MODEL, TINY_MODEL, "-q"]);
    expect(same).toMatchObject({ code: 0, stdout: "all 29 tensors are equal\n" });
    const bytes = Uint8Array.from(await readFile(TINY_MODEL));
    bytes[bytes.length - 5]! ^= 1;
    const changed = await written("changed.gguf", bytes);
    const { code, stdout } = await halfbyte(["diff", TINY_MODEL, changed, "-q"]);
    expect(code).toBe(1);
    expect(stdout).toMatch(/1 tensor of 29 differ/);
    const json = await halfbyte(["diff", TINY_MODEL, changed, "--json", "-q"]);
    expect(JSON.parse(json.stdout)).toMatchObject({
      equal: false,
      tensors: [{ equal: false, difference: { differing: 1 } }, ...Array(28).fill({ equal: true })],
    });
  });

  it.each([
    ["a model that is not there", [TINY_MODEL, "/no/such/model"], "ERR_MISSING"],
    ["two architectures", [TINY_MODEL, GEMMA], "ERR_ARGUMENT"],
    ["one model alone", [TINY_MODEL], "missing required argument"],
  ])("exits with 2 for %s", async (_, models, told) => {
    const { code, stdout, stderr } = await halfbyte(["diff", ...models]);
    expect([code, stdout]).toEqual([2, ""]);
    expect(stderr).toContain(told);
  });
});
