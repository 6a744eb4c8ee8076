import { mkdir, mkdtemp, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { ENCODINGS, shardableLlama } from "../../test/shardable-llama.ts";
import { shardCommand } from "./shard.ts";

describe("halfbyte shard", () => {
  const never = new AbortController().signal;
  let folder: string;
  let model: string;
  let out: string;
  let printed: string;
  let said: string;
  let onError: (text: string) => void;

  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), "halfbyte-shard-"));
    [model, out] = [join(folder, "model"), join(folder, "out")];
    await mkdir(model);
    for (const [name, bytes] of shardableLlama(ENCODINGS.cpu_int4!)) await writeFile(join(model, name), bytes);
    [printed, said, onError] = ["", "", () => {}];
    vi.spyOn(process.stdout, "write").mockImplementation((text) => {
      printed += text;
      return true;
    });
    vi.spyOn(process.stderr, "write").mockImplementation((text) => {
      said += text;
      onError(String(text));
      return true;
    });
  });
  afterEach(async () => {
    vi.restoreAllMocks();
    await rm(folder, { recursive: true, force: true });
  });

  it("replaces an earlier cut as a whole", async () => {
    await shardCommand(model, out, { of: 3 }, never);
    expect(said).toContain("checking: 3 ranks\n");
    expect(printed).toMatch(/rank-0: heads 0 to 1 on key-value head 0, inner numbers 0 to/);
    await expect(shardCommand(model, out, { of: 2 }, never)).rejects.toThrow(/there already.*--force/);
    expect(await readdir(out)).toEqual(["rank-0", "rank-1", "rank-2"]);
    await shardCommand(model, out, { of: 2, force: true, quiet: true }, never);
    expect(await readdir(out)).toEqual(["rank-0", "rank-1"]);
    expect((await readdir(folder)).sort()).toEqual(["model", "out"]);
  });

  it.each(["thesis.txt", "rank-1/thesis.txt"])("leaves an earlier cut alone that has %s", async (name) => {
    await shardCommand(model, out, { of: 2, quiet: true }, never);
    await writeFile(join(out, name), "mine");
    await expect(shardCommand(model, out, { of: 2, force: true, quiet: true }, never)).rejects.toThrow(/thesis.txt/);
    expect(await readFile(join(out, name), "utf8")).toBe("mine");
  });

  it("leaves nothing when it is interrupted, and says so", async () => {
    const interrupt = new AbortController();
    onError = (text) => {
      if (text.includes("rank 1")) interrupt.abort(new DOMException("interrupted", "AbortError"));
    };
    await expect(shardCommand(model, out, { of: 2 }, interrupt.signal)).rejects.toThrow(/interrupted/);
    expect(said).toMatch(/interrupted; nothing was written\n$/);
    expect(await readdir(folder)).toEqual(["model"]);
  });

  it("is not written into the model", async () => {
    await expect(shardCommand(model, join(model, "out"), { of: 2, quiet: true }, never)).rejects.toThrow(
      /in the folder of the input/,
    );
  });
});
