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

  it("replaces a folder that is a model's, and no other, nor a file by a folder", async () => {
    const path = join(folder, "model");
    await mkdir(path);
    await writeFile(join(path, "diary.txt"), "mine");
    const open = () => openOutput(path, "folder", { force: true });
    await expect(open()).rejects.toThrow(refused("ERR_ARGUMENT", /not one that holds a model/));
    await writeFile(join(path, "config.json"), "{}");
    const output = await open();
    await (await output.folder.file("config.json")).write(0, text("new"));
    await output.commit();
    expect(await readdir(folder)).toEqual(["model"]);
    expect(await readdir(path)).toEqual(["config.json"]);
    await writeFile(join(folder, "file"), "");
    await expect(openOutput(join(folder, "file"), "folder", { force: true })).rejects.toThrow(
      refused("ERR_ARGUMENT", /cannot replace/),
    );
    await mkdir(join(path, "inner"));
    await expect(open()).rejects.toThrow(refused("ERR_ARGUMENT", /not one that holds a model/));
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

  it("says where it cannot write", async () => {
    await expect(openOutput(join(folder, "absent", "model"), "folder")).rejects.toThrow(
      refused("ERR_IO", /absent.*cannot write/),
    );
  });
});
