import { mkdir, mkdtemp, readdir, readFile, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { openOutput } from "./node-output.ts";

const text = (value: string): Uint8Array => new TextEncoder().encode(value);
const refused = (code: string, message: RegExp): unknown =>
  expect.objectContaining({ code, message: expect.stringMatching(message) });

describe("an output on disk", () => {
  let folder: string;
  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), "halfbyte-output-"));
  });
  afterEach(() => rm(folder, { recursive: true, force: true }));

  it("has its name when it is complete, whatever the order of its bytes", async () => {
    const output = await openOutput(join(folder, "model.gguf"), "file");
    const sink = await output.sink();
    await sink.write(4, text("late"));
    await sink.write(0, text("soon"));
    expect(await readdir(folder)).toEqual([expect.stringMatching(/^\.model\.gguf\..*\.partial$/)]);
    await output.commit();
    await output.discard();
    expect(await readdir(folder)).toEqual(["model.gguf"]);
    expect(await readFile(join(folder, "model.gguf"), "utf8")).toBe("soonlate");
  });

  it.each(["file", "folder"] as const)("leaves nothing of a %s behind when it is given up", async (kind) => {
    const output = await openOutput(join(folder, "out"), kind);
    const sink = kind === "file" ? await output.sink() : await output.folder.file("config.json");
    await sink.write(0, text("{}"));
    await output.discard();
    expect(await readdir(folder)).toEqual([]);
  });

  it("replaces nothing unless it is told to", async () => {
    const path = join(folder, "model.gguf");
    await writeFile(path, "old");
    await expect(openOutput(path, "file")).rejects.toThrow(refused("ERR_ARGUMENT", /already.*--force/));
    const output = await openOutput(path, "file", { force: true });
    await (await output.sink()).write(0, text("new"));
    expect(await readFile(path, "utf8")).toBe("old");
    await output.commit();
    expect(await readFile(path, "utf8")).toBe("new");
  });

  const MODEL_FILES = [
    ...["config.json", "generation_config.json", "tokenizer.json", "tokenizer_config.json", "chat_template.jinja"],
    ...["quantize_config.json", "model.safetensors.index.json", "model-00001-of-00002.safetensors"],
  ];

  async function madeFolder(path: string, names: readonly string[]): Promise<void> {
    await mkdir(path, { recursive: true });
    for (const name of names) await writeFile(join(path, name), "mine");
  }

  it("replaces a folder that holds a model, and one that is empty", async () => {
    const path = join(folder, "model");
    await madeFolder(path, MODEL_FILES);
    for (const force of [true, false]) {
      const output = await openOutput(path, "folder", { force });
      await (await output.folder.file("config.json")).write(0, text("new"));
      await output.commit();
      expect(await readdir(folder)).toEqual(["model"]);
      expect(await readdir(path)).toEqual(["config.json"]);
      await rm(join(path, "config.json"));
    }
  });

  it.each([
    ...["thesis.txt", "photo.jpg", "notes.md", "train.py", "data.json", "optimizer.bin", "other.safetensors", ".env"],
    "model-1-of-2.safetensors",
  ])("leaves a model's folder alone that also has %s", async (name) => {
    const path = join(folder, "model");
    await madeFolder(path, [...MODEL_FILES, name]);
    const open = openOutput(path, "folder", { force: true });
    await expect(open).rejects.toThrow(
      refused("ERR_ARGUMENT", new RegExp(`not one that holds a model and nothing else: it also has .*${name}`)),
    );
    expect(await readFile(join(path, name), "utf8")).toBe("mine");
    expect(await readdir(folder)).toEqual(["model"]);
  });

  it.each([
    [["config.json", "README.md"], /it has no model.safetensors/],
    [["model.safetensors", "README.md"], /it has no config.json/],
  ])("leaves %j alone, which is no model", async (names, message) => {
    await madeFolder(join(folder, "model"), names);
    await expect(openOutput(join(folder, "model"), "folder", { force: true })).rejects.toThrow(
      refused("ERR_ARGUMENT", message),
    );
  });

  it("replaces neither a folder with folders in it, nor a file by a folder", async () => {
    const path = join(folder, "model");
    await madeFolder(join(path, "tokenizer.json"), []);
    await madeFolder(path, ["config.json", "model.safetensors"]);
    await expect(openOutput(path, "folder", { force: true })).rejects.toThrow(
      refused("ERR_ARGUMENT", /also has .*tokenizer.json/),
    );
    await writeFile(join(folder, "file"), "");
    await expect(openOutput(join(folder, "file"), "folder", { force: true })).rejects.toThrow(
      refused("ERR_ARGUMENT", /cannot replace/),
    );
  });

  it("leaves alone what came to its place while it was written", async () => {
    const path = join(folder, "model");
    await madeFolder(path, MODEL_FILES);
    const output = await openOutput(path, "folder", { force: true });
    await madeFolder(path, ["thesis.txt"]);
    await expect(output.commit()).rejects.toThrow(refused("ERR_ARGUMENT", /thesis.txt/));
    await output.discard();
    expect(await readdir(folder)).toEqual(["model"]);
    const file = await openOutput(join(folder, "new.gguf"), "file");
    await (await file.sink()).write(0, text("new"));
    await writeFile(join(folder, "new.gguf"), "mine");
    await expect(file.commit()).rejects.toThrow(refused("ERR_ARGUMENT", /already/));
    await file.discard();
    expect(await readFile(join(folder, "new.gguf"), "utf8")).toBe("mine");
  });

  it("replaces a cut into ranks as a whole, and nothing else by one", async () => {
    const path = join(folder, "cut");
    const files = ["config.json", "model.safetensors", "shard.json"];
    for (const rank of [0, 1, 2]) await madeFolder(join(path, `rank-${rank}`), files);
    await writeFile(join(path, "rank-2", "thesis.txt"), "mine");
    const open = () => openOutput(path, "ranks", { force: true });
    await expect(open()).rejects.toThrow(refused("ERR_ARGUMENT", /of rank-2, it also has .*thesis.txt/));
    await rm(join(path, "rank-2", "thesis.txt"));
    await writeFile(join(path, "notes.md"), "mine");
    await expect(open()).rejects.toThrow(
      refused("ERR_ARGUMENT", /holds ranks and nothing else: it also has .*notes.md/),
    );
    await rm(join(path, "notes.md"));
    const output = await open();
    for (const rank of ["rank-0", "rank-1"])
      await (await (await output.subfolder(rank)).file("config.json")).write(0, text(rank));
    await output.commit();
    expect(await readdir(path)).toEqual(["rank-0", "rank-1"]);
    expect(await readFile(join(path, "rank-1", "config.json"), "utf8")).toBe("rank-1");
    expect(await readdir(folder)).toEqual(["cut"]);
  });

  it("is not what is read, by whatever name", async () => {
    const path = join(folder, "model.gguf");
    await writeFile(path, "");
    await symlink(path, join(folder, "link.gguf"));
    await expect(openOutput(join(folder, "link.gguf"), "file", { force: true, inputs: [path] })).rejects.toThrow(
      refused("ERR_ARGUMENT", /is the input/),
    );
  });

  it("takes no names with folders in them", async () => {
    const output = await openOutput(join(folder, "model"), "folder");
    for (const name of ["../x", "a/b", ".hidden", ""])
      expect(() => output.folder.file(name)).toThrow(refused("ERR_ARGUMENT", /plain file name/));
    await output.discard();
  });

  it("is no other file of a split model that is read", async () => {
    const [first, second] = [1, 2].map((n) => join(folder, `m-0000${n}-of-00002.gguf`)) as [string, string];
    for (const path of [first, second]) await writeFile(path, "mine");
    await expect(openOutput(second, "file", { force: true, inputs: [first] })).rejects.toThrow(
      refused("ERR_ARGUMENT", /is the input/),
    );
  });

  it("is not in the folder that is read", async () => {
    const path = join(folder, "model");
    await madeFolder(path, MODEL_FILES);
    await expect(openOutput(join(path, "out"), "folder", { inputs: [path] })).rejects.toThrow(
      refused("ERR_ARGUMENT", /in the folder of the input/),
    );
  });

  it("says why it cannot write, and where, by the name that was given", async () => {
    const reason = (path: string) => openOutput(path, "folder").catch((error: unknown) => (error as Error).message);
    const absent = join(folder, "absent", "model");
    expect(await reason(absent)).toBe(`${absent}: cannot write: its folder does not exist`);
    await writeFile(join(folder, "file"), "");
    const inFile = join(folder, "file", "model");
    expect(await reason(inFile)).toBe(`${inFile}: cannot write: what should be its folder is a file`);
    const long = join(folder, "x".repeat(255));
    expect(await reason(long)).toBe(`${long}: cannot write: the name is too long`);
  });
});
