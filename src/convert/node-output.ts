import { type FileHandle, mkdir, open, rename, rm, stat } from "node:fs/promises";
import { basename, dirname, join, resolve } from "node:path";
import { HalfbyteError } from "../errors.ts";
import { checkOutput, type OutputKind, type OutputOptions } from "./check-output.ts";
import { writing } from "./write-error.ts";
import type { ByteSink, OutputFolder } from "./writer.ts";

/** A file or folder on disk that takes its name when it is complete, and is gone where it is not. */
export interface Output {
  /** For a model that is one file. */
  readonly sink: () => Promise<ByteSink>;
  readonly folder: OutputFolder;
  /** A folder in the folder; what was written before is closed. */
  subfolder(name: string): Promise<OutputFolder>;
  /** Brings everything to the disk, then to its name. Throws what `checkOutput` does: others may have written there since. */
  commit(): Promise<void>;
  /** Removes what was written; nothing after `commit`. */
  discard(): Promise<void>;
}

/** Opens an output beside its place, under a hidden name. Throws what `checkOutput` does. */
export async function openOutput(path: string, kind: OutputKind, options: OutputOptions = {}): Promise<Output> {
  const target = resolve(path);
  await checkOutput(path, kind, options);
  const work = join(dirname(target), `.${basename(target)}.${process.pid}-${Date.now().toString(36)}.partial`);
  const folders = kind === "file" ? [] : [work];
  const handles: FileHandle[] = [];
  let committed = false;

  // Errors name the file as it will be called.
  const openFile = async (file: string, place: string): Promise<ByteSink> => {
    const handle = await writing(place, () => open(file, "wx"));
    handles.push(handle);
    return { write: (offset, bytes) => writing(place, () => writeAt(handle, offset, bytes)) };
  };
  const filesIn = (folder: string, place: string): OutputFolder => ({
    file: (name) => openFile(join(folder, plainName(name)), join(place, name)),
  });
  const closeAll = async (): Promise<void> => {
    await Promise.all(handles.splice(0).map((handle) => handle.close()));
  };
  const settle = async (): Promise<void> => {
    for (const handle of handles) await handle.sync();
    await closeAll();
  };
  if (kind !== "file") await writing(path, () => mkdir(work));
  return {
    sink: () => openFile(work, path),
    folder: filesIn(work, path),
    async subfolder(name) {
      const folder = join(work, plainName(name));
      await writing(join(path, name), async () => {
        await settle();
        await mkdir(folder);
      });
      folders.unshift(folder);
      return filesIn(folder, join(path, name));
    },
    commit: () =>
      writing(path, async () => {
        await settle();
        for (const folder of folders) await syncFolder(folder);
        await checkOutput(path, kind, options);
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

function plainName(name: string): string {
  if (name !== "" && basename(name) === name && !name.startsWith(".")) return name;
  throw new HalfbyteError("ERR_ARGUMENT", "not a plain file name", { got: name });
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
