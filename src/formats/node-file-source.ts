import { type FileHandle, open } from "node:fs/promises";
import { HalfbyteError } from "../errors.ts";
import { type ByteSource, guardedSource } from "./byte-source.ts";

/** One read call of libuv takes at most 2^31 − 1 bytes. */
const MAX_READ_BYTES = 1024 * 1024 * 1024;

/**
 * A file on disk, read by position. Throws ERR_MISSING when there is none, ERR_IO when it cannot be opened or is no
 * regular file; reading throws ERR_TRUNCATED when the file has shrunk since it was opened.
 */
export async function openFileSource(path: string): Promise<ByteSource> {
  const handle = await open(path, "r").catch((cause: NodeJS.ErrnoException) => {
    const missing = cause.code === "ENOENT";
    throw new HalfbyteError(missing ? "ERR_MISSING" : "ERR_IO", missing ? "no such file" : "cannot open the file", {
      place: path,
      cause,
    });
  });
  try {
    const stat = await handle.stat();
    if (!stat.isFile()) throw new HalfbyteError("ERR_IO", "not a regular file", { place: path });
    return guardedSource(
      path,
      stat.size,
      (offset, target) => readAt(handle, path, offset, target),
      () => handle.close(),
    );
  } catch (error) {
    await handle.close();
    throw error;
  }
}

async function readAt(handle: FileHandle, path: string, offset: number, target: Uint8Array): Promise<void> {
  for (let done = 0; done < target.byteLength; ) {
    const length = Math.min(MAX_READ_BYTES, target.byteLength - done);
    const { bytesRead } = await handle.read(target, done, length, offset + done).catch((cause: unknown) => {
      throw new HalfbyteError("ERR_IO", "reading failed", { place: `${path} at byte ${offset + done}`, cause });
    });
    if (bytesRead === 0) {
      throw new HalfbyteError("ERR_TRUNCATED", "the file became shorter while it was read", {
        place: `${path} at byte ${offset + done}`,
        expected: `${target.byteLength - done} more bytes`,
        got: "none",
      });
    }
    done += bytesRead;
  }
}

/** As `openFileSource`, or undefined where there is no such file. */
export async function openFileIfPresent(path: string): Promise<ByteSource | undefined> {
  try {
    return await openFileSource(path);
  } catch (error) {
    if (error instanceof HalfbyteError && error.code === "ERR_MISSING") return undefined;
    throw error;
  }
}
