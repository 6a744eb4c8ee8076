import { type FileHandle, mkdir, open, readdir, realpath, rename, rm, stat } from "node:fs/promises";
import { basename, dirname, join, resolve, sep } from "node:path";
import { HalfbyteError } from "../errors.ts";
import type { ByteSink, OutputFolder } from "./writer.ts";

export interface OutputOptions {
  /** Replace what is there. A folder is replaced only where it is a model's. */
  readonly force?: boolean;
  /** Files and folders that are read meanwhile: the output may be none of them. */
  readonly inputs?: readonly string[];
}

/** A file or folder on disk that takes its name when it is complete, and is gone where it is not. */
export interface Output {
  /** For a model that is one file. */
  readonly sink: () => Promise<ByteSink>;
  readonly folder: OutputFolder;
  /** Brings everything to the disk, then to its name. */
  commit(): Promise<void>;
  /** Removes what was written; nothing after `commit`. */
  discard(): Promise<void>;
}

/** What a folder of a model has, and hardly any other folder. */
const MODEL_FILE = "config.json";

/**
 * Opens an output beside its place, under a hidden name. Throws ERR_ARGUMENT where something is there and may not be
 * replaced, ERR_IO where the folder around it cannot be written to.
 */
export async function openOutput(path: string, kind: "file" | "folder", options: OutputOptions = {}): Promise<Output> {
  const target = resolve(path);
  await checkOutput(path, kind, options);
  const work = join(dirname(target), `.${basename(target)}.${process.pid}-${Date.now().toString(36)}.partial`);
  const handles: FileHandle[] = [];
  let committed = false;

  const openFile = async (file: string): Promise<ByteSink> => {
    const handle = await attempt(file, () => open(file, "wx"));
    handles.push(handle);
    return {
      write: (offset, bytes) => attempt(file, () => writeAt(handle, offset, bytes)),
    };
  };
  const closeAll = async (): Promise<void> => {
    await Promise.all(handles.splice(0).map((handle) => handle.close()));
  };
  if (kind === "folder") await attempt(work, () => mkdir(work));
  return {
    sink: () => openFile(work),
    folder: {
      file(name) {
        if (name === "" || basename(name) !== name || name.startsWith("."))
          throw new HalfbyteError("ERR_ARGUMENT", "not a plain file name", { got: name });
        return openFile(join(work, name));
      },
    },
    commit: () =>
      attempt(target, async () => {
        for (const handle of handles) await handle.sync();
        await closeAll();
        if (kind === "folder") await syncFolder(work);
        await moveInto(work, target);
        committed = true;
        await syncFolder(dirname(target));
      }),
    async discard() {
      if (committed) return;
      await closeAll();
      await rm(work, { recursive: true, force: true });
    },
  };
}

/** What `openOutput` checks before it opens anything. */
export async function checkOutput(
  path: string,
  kind: "file" | "folder",
  { force = false, inputs = [] }: OutputOptions = {},
): Promise<void> {
  const target = resolve(path);
  const refuse = (problem: string, remedy: string): never => {
    throw new HalfbyteError("ERR_ARGUMENT", problem, { place: target, remedy });
  };
  const found = await stat(target).catch(() => undefined);
  if (!found) return;
  const real = await realpath(target);
  for (const input of inputs) {
    const read = await realpath(input).catch(() => "");
    if (read === real || read.startsWith(real + sep)) refuse("the output is the input", "give it another name");
  }
  if (!force) refuse("something is there already", "give another name, or --force to replace it");
  if (found.isDirectory() !== (kind === "folder"))
    refuse(`a ${kind} cannot replace what is there`, "remove it first, or give another name");
  if (kind === "file") return;
  const entries = await readdir(target, { withFileTypes: true });
  if (entries.length > 0 && (!entries.some(({ name }) => name === MODEL_FILE) || entries.some((e) => e.isDirectory())))
    refuse("the folder there is not one that holds a model and nothing else", "remove it first, or give another name");
}

/** A rename replaces a file at once; a folder that is there is moved aside until the new one has its name. */
async function moveInto(work: string, target: string): Promise<void> {
  const there = await stat(target).catch(() => undefined);
  if (!there?.isDirectory()) return rename(work, target);
  const aside = `${work}.old`;
  await rename(target, aside);
  try {
    await rename(work, target);
  } catch (error) {
    await rename(aside, target);
    throw error;
  }
  await rm(aside, { recursive: true, force: true });
}

async function writeAt(handle: FileHandle, offset: number, bytes: Uint8Array): Promise<void> {
  for (let done = 0; done < bytes.byteLength; )
    done += (await handle.write(bytes, done, bytes.byteLength - done, offset + done)).bytesWritten;
}

/** A name is on the disk once its folder is; some systems cannot sync folders, and need not. */
async function syncFolder(path: string): Promise<void> {
  const handle = await open(path, "r").catch(() => undefined);
  await handle?.sync().catch(() => undefined);
  await handle?.close();
}

async function attempt<T>(place: string, run: () => Promise<T>): Promise<T> {
  try {
    return await run();
  } catch (cause) {
    if (cause instanceof HalfbyteError) throw cause;
    const full = (cause as NodeJS.ErrnoException).code === "ENOSPC";
    throw new HalfbyteError("ERR_IO", full ? "the disk is full" : "cannot write", { place, cause });
  }
}
