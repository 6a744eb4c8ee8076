import { mkdir, mkdtemp, readdir, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { loadModel } from "../../src/index.ts";
import { ENCODINGS, LAYER, shardableLlama } from "../shardable-llama.ts";
import { halfbyte, isBuilt, TINY_MODEL } from "./command.ts";

describe.skipIf(!isBuilt)("halfbyte shard", () => {
  let folder: string;
  const at = (...parts: string[]): string => join(folder, ...parts);
  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), "shard-command-"));
    await mkdir(at("model"));
    for (const [name, bytes] of shardableLlama(ENCODINGS["GPTQ with act-order"]!))
      await writeFile(at("model", name), bytes);
  });
  afterAll(() => rm(folder, { recursive: true, force: true }));

  it("writes a folder for each rank, which loads as that rank and does not run alone", async () => {
    const { code, stdout, stderr } = await halfbyte(["shard", at("model"), at("ranks"), "--of", "2", "--quiet"]);
    expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
    expect(stdout).toMatch(
      /rank-0: heads 0 to 2 on key-value head 0, inner numbers 0 to 95, tokens 0 to 47; .*kB\n.*rank-1: heads 3/,
    );
    expect((await readdir(at("ranks"))).sort()).toEqual(["rank-0", "rank-1"]);
    await using shard = await loadModel(at("ranks", "rank-1"), { shard: { rank: 1, of: 2 } });
    expect(shard.matrix(`${LAYER}.mlp.down_proj.weight`).K).toBe(64);
    const run = await halfbyte(["run", at("ranks", "rank-1"), "hello"]);
    expect(run).toMatchObject({ code: 1, stderr: expect.stringMatching(/cannot answer alone/) });
  });

  it("leaves what is there alone unless it is forced, and tells in JSON what it wrote", async () => {
    const args = ["shard", at("model"), at("json"), "--of", "3", "--to", "compressed-tensors", "--json"];
    expect(await halfbyte(args)).toMatchObject({ code: 0 });
    expect(await halfbyte(args)).toMatchObject({ code: 2, stderr: expect.stringMatching(/there already.*--force/) });
    const { code, stdout } = await halfbyte([...args, "--force"]);
    expect(code).toBe(0);
    expect(JSON.parse(stdout).map(({ share }: { share: { rank: number } }) => share.rank)).toEqual([0, 1, 2]);
  });

  it.each([
    [["--of", "9"], /too few heads for so many ranks/],
    [["--of", "2", "--to", "gguf"], /ranks are written as folders/],
    [["--of", "2", "--to", "awq"], /AWQ cannot hold/],
  ])("refuses %j and writes nothing", async (options, message) => {
    const ended = await halfbyte(["shard", at("model"), at("nothing"), ...options]);
    expect(ended.code).not.toBe(0);
    expect(ended.stderr).toMatch(message);
    expect(await readdir(folder)).not.toContain("nothing");
  });

  it("refuses a GGUF file, and says what to do", async () => {
    const ended = await halfbyte(["shard", TINY_MODEL, at("nothing"), "--of", "2"]);
    expect(ended).toMatchObject({ code: 1, stderr: expect.stringMatching(/GGUF.*halfbyte convert/) });
  });
});
