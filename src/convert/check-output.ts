import { constants } from "node:fs";
import { access, readdir, realpath, stat } from "node:fs/promises";
import { basename, dirname, join, resolve, sep } from "node:path";
import { HalfbyteError } from "../errors.ts";
import { splitFileNames } from "../formats/gguf/open-gguf.ts";
import { shown } from "../formats/shown.ts";
import { isModelFile, lackOfModel, MANIFEST_FILE } from "./model-files.ts";
import { writing } from "./write-error.ts";

/** ranks: a folder of `rank-0`, `rank-1` and so on, each a folder of a model. */
export type OutputKind = "file" | "folder" | "ranks";

export interface OutputOptions {
  /** Replace what is there. A folder is replaced only where it has nothing but what Halfbyte writes for a model. */
  readonly force?: boolean;
  /** Files and folders that are read meanwhile: the output may be none of them, and in none of them. */
  readonly inputs?: readonly string[];
}

/**
 * Whether an output can be made at a path, before work on it begins. Throws ERR_ARGUMENT where something is there and may
 * not be replaced, naming the file that stands against it, and ERR_IO, with the reason, where nothing can be written there.
 */
export async function checkOutput(
  path: string,
  kind: OutputKind,
  { force = false, inputs = [] }: OutputOptions = {},
): Promise<void> {
  const target = resolve(path);
  const refuse = (problem: string, remedy: string): never => {
    throw new HalfbyteError("ERR_ARGUMENT", problem, { place: path, remedy });
  };
  await checkAround(path);
  const found = await stat(target).catch(() => undefined);
  const real = found ? await realpath(target) : join(await realpath(dirname(target)), basename(target));
  for (const input of inputs.flatMap(filesOf)) {
    const read = await realpath(input).catch(() => undefined);
    if (read === undefined) continue;
    if (read === real || read.startsWith(real + sep)) refuse("the output is the input", "give it another name");
    if (real.startsWith(read + sep)) refuse("the output lies in the folder of the input", "give it another place");
  }
  if (!found) return;
  const entries = found.isDirectory() ? await writing(path, () => readdir(target)) : [];
  const isEmpty = found.isDirectory() && entries.length === 0;
  if (isEmpty && kind !== "file") return;
  if (!force) refuse("something is there already", "give another name, or --force to replace it");
  if (found.isDirectory() !== (kind !== "file"))
    refuse(
      `a ${kind === "file" ? kind : "folder"} cannot replace what is there`,
      "remove it first, or give another name",
    );
  if (kind === "file") return;
  const stranger = kind === "folder" ? await strangerToModel(target) : await strangerToRanks(target, entries);
  if (stranger !== undefined)
    refuse(
      `the folder there is not one that holds ${kind === "folder" ? "a model" : "ranks"} and nothing else: ${stranger}`,
      "remove it first, or give another name",
    );
}

/** A file, or all files of a split model of which it is one. */
function filesOf(input: string): string[] {
  return splitFileNames(basename(input))?.map((name) => join(dirname(input), name)) ?? [input];
}

/** The folder around an output is there, and can be written to. */
async function checkAround(path: string): Promise<void> {
  const around = dirname(resolve(path));
  await writing(path, async () => {
    if (!(await stat(around)).isDirectory()) throw Object.assign(new Error("not a folder"), { code: "ENOTDIR" });
    await access(around, constants.W_OK | constants.X_OK);
  });
}

/** What makes a folder other than one Halfbyte wrote for a model; undefined where nothing does. */
async function strangerToModel(folder: string): Promise<string | undefined> {
  const entries = await readdir(folder, { withFileTypes: true });
  const names = entries.map(({ name }) => name).sort();
  const folders = new Set(entries.filter((entry) => entry.isDirectory()).map(({ name }) => name));
  const other = names.find((name) => folders.has(name) || !isModelFile(name));
  if (other !== undefined) return `it also has ${shown(other)}`;
  const lacking = lackOfModel(names);
  return lacking && `it has no ${lacking}`;
}

async function strangerToRanks(folder: string, names: readonly string[]): Promise<string | undefined> {
  for (const name of [...names].sort()) {
    const rank = join(folder, name);
    if (!/^rank-\d+$/.test(name) || !(await stat(rank)).isDirectory()) return `it also has ${shown(name)}`;
    const inside = await readdir(rank);
    const stranger = inside.includes(MANIFEST_FILE) ? await strangerToModel(rank) : `it has no ${MANIFEST_FILE}`;
    if (stranger !== undefined) return `of ${name}, ${stranger}`;
  }
  return undefined;
}
