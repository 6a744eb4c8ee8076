import { createHash, type Hash } from "node:crypto";
import { type FileHandle, open, readFile, rename, rm, statfs, writeFile } from "node:fs/promises";
import { basename, dirname } from "node:path";
import { HalfbyteError } from "../errors.ts";
import { ioError } from "./io-error.ts";
import { makeFolder } from "./make-folder.ts";

/** What a file must be; what is undefined is not known and not checked. */
export interface FileExpectation {
  readonly bytes?: number | undefined;
  readonly sha256?: string | undefined;
  /** The id that git gives small files, SHA-1 over `blob <size>\0` and the bytes; `bytes` must then be known. */
  readonly gitBlob?: string | undefined;
}

export interface FileRecord {
  readonly name: string;
  readonly bytes: number;
  readonly sha256: string;
}

/** Lets a later process go on: `key` names the source, `validator` the version of the file there (ETag or date). */
export interface ResumeState {
  readonly key: string;
  readonly validator?: string;
}

/** Left free on the disk, so that a download does not take the last byte from other programs. */
const DISK_RESERVE_BYTES = 64 * 1024 * 1024;
const HASH_BLOCK_BYTES = 1024 * 1024;

/** A file on its way: bytes go to `<target>.partial`; only when size and hashes are right does it take its name. */
export class PartialFile {
  readonly target: string;
  readonly #handle: FileHandle;
  readonly #expectation: FileExpectation;
  #sha256: Hash = createHash("sha256");
  #gitBlob: Hash | undefined;
  #bytes = 0;

  private constructor(target: string, handle: FileHandle, expectation: FileExpectation) {
    this.target = target;
    this.#handle = handle;
    this.#expectation = expectation;
    this.#startHashes();
  }

  /** Opens the partial file of `target`, empty unless what is there may be continued from the source `key`. */
  static async open(
    target: string,
    expectation: FileExpectation,
    key?: string,
  ): Promise<{ file: PartialFile; resumableBytes: number; validator: string | undefined }> {
    try {
      await makeFolder(dirname(target));
      const state = key === undefined ? undefined : await readState(target, key);
      // "a+" makes the file where it is absent and keeps what is there.
      await (await open(`${target}.partial`, "a+")).close();
      const handle = await open(`${target}.partial`, "r+");
      const file = new PartialFile(target, handle, expectation);
      const validator = state?.validator;
      const continues = state !== undefined && (validator !== undefined || expectation.sha256 !== undefined);
      const resumableBytes = continues ? (await handle.stat()).size : 0;
      if (!continues) await file.restart();
      return { file, resumableBytes, validator };
    } catch (error) {
      throw ioError(error, target);
    }
  }

  get bytes(): number {
    return this.#bytes;
  }

  /** Hashes the first `bytes` bytes that are there already. */
  async keep(bytes: number, signal?: AbortSignal): Promise<void> {
    const block = new Uint8Array(HASH_BLOCK_BYTES);
    while (this.#bytes < bytes) {
      signal?.throwIfAborted();
      const length = Math.min(block.length, bytes - this.#bytes);
      const { bytesRead } = await this.#handle.read(block, 0, length, this.#bytes);
      if (bytesRead === 0) break;
      this.#count(block.subarray(0, bytesRead));
    }
  }

  /** Appends; throws ERR_HASH when the file grows past the size it should have, ERR_IO. */
  async append(chunk: Uint8Array): Promise<void> {
    const limit = this.#expectation.bytes;
    if (limit !== undefined && this.#bytes + chunk.byteLength > limit) {
      throw new HalfbyteError("ERR_HASH", "has the wrong size", {
        place: basename(this.target),
        expected: `${limit} bytes`,
        got: `at least ${this.#bytes + chunk.byteLength}`,
      });
    }
    try {
      for (let done = 0; done < chunk.byteLength; ) {
        const rest = chunk.byteLength - done;
        done += (await this.#handle.write(chunk, done, rest, this.#bytes + done)).bytesWritten;
      }
    } catch (error) {
      throw ioError(error, this.target);
    }
    this.#count(chunk);
  }

  /** Throws ERR_IO when `totalBytes` would not fit on the disk. */
  async checkSpace(totalBytes: number): Promise<void> {
    const { bavail, bsize } = await statfs(dirname(this.target));
    const free = bavail * bsize;
    const needed = totalBytes - this.#bytes + DISK_RESERVE_BYTES;
    if (free >= needed) return;
    throw new HalfbyteError("ERR_IO", "there is not enough free space on the disk", {
      place: dirname(this.target),
      expected: `${needed} bytes`,
      got: `${free}`,
      remedy: "free some space or set HALFBYTE_CACHE to a folder on another disk",
    });
  }

  async saveState(state: ResumeState): Promise<void> {
    try {
      await writeFile(`${this.target}.partial.json`, JSON.stringify(state));
    } catch (error) {
      throw ioError(error, this.target);
    }
  }

  /** Empties the file. */
  async restart(): Promise<void> {
    try {
      await this.#handle.truncate(0);
    } catch (error) {
      throw ioError(error, this.target);
    }
    this.#bytes = 0;
    this.#startHashes();
  }

  /** Checks size and hashes, makes the bytes durable and gives the file its name. Throws ERR_HASH and then removes it. */
  async finish(): Promise<FileRecord> {
    const name = basename(this.target);
    const sha256 = this.#sha256.digest("hex");
    const problem = mismatch(this.#expectation, this.#bytes, sha256, this.#gitBlob?.digest("hex"));
    if (problem) {
      await this.discard();
      throw new HalfbyteError("ERR_HASH", problem.problem, { ...problem, place: name });
    }
    try {
      await this.#handle.truncate(this.#bytes);
      await this.#handle.sync();
      await this.#handle.close();
      await rename(`${this.target}.partial`, this.target);
      await rm(`${this.target}.partial.json`, { force: true });
      await syncFolder(dirname(this.target));
    } catch (error) {
      throw ioError(error, this.target);
    }
    return { name, bytes: this.#bytes, sha256 };
  }

  /** Leaves the bytes, if there are any, for a later try. */
  async close(): Promise<void> {
    if (this.#bytes === 0) await this.discard();
    else await this.#handle.close();
  }

  async discard(): Promise<void> {
    await this.#handle.close();
    await rm(`${this.target}.partial`, { force: true });
    await rm(`${this.target}.partial.json`, { force: true });
  }

  #startHashes(): void {
    this.#sha256 = createHash("sha256");
    const { gitBlob, bytes } = this.#expectation;
    if (gitBlob !== undefined && bytes !== undefined) this.#gitBlob = createHash("sha1").update(`blob ${bytes}\0`);
  }

  #count(chunk: Uint8Array): void {
    this.#sha256.update(chunk);
    this.#gitBlob?.update(chunk);
    this.#bytes += chunk.byteLength;
  }
}

/** Size and hashes of a file on disk, or undefined where there is none. */
export async function measureFile(
  path: string,
  onBlock: (bytes: number) => void = () => {},
  signal?: AbortSignal,
): Promise<FileRecord | undefined> {
  const handle = await open(path, "r").catch((error: NodeJS.ErrnoException) => {
    if (error.code === "ENOENT") return undefined;
    throw ioError(error, path);
  });
  if (!handle) return undefined;
  const hash = createHash("sha256");
  let bytes = 0;
  try {
    for await (const block of handle.createReadStream({ highWaterMark: HASH_BLOCK_BYTES })) {
      signal?.throwIfAborted();
      hash.update(block);
      bytes += block.byteLength;
      onBlock(bytes);
    }
  } catch (error) {
    throw ioError(error, path);
  } finally {
    await handle.close().catch(() => {});
  }
  return { name: basename(path), bytes, sha256: hash.digest("hex") };
}

function mismatch(
  expectation: FileExpectation,
  bytes: number,
  sha256: string,
  gitBlob: string | undefined,
): { problem: string; expected: string; got: string } | undefined {
  if (expectation.bytes !== undefined && expectation.bytes !== bytes) {
    return { problem: "has the wrong size", expected: `${expectation.bytes} bytes`, got: `${bytes}` };
  }
  if (expectation.sha256 !== undefined && expectation.sha256 !== sha256) {
    return { problem: "has the wrong SHA-256", expected: expectation.sha256, got: sha256 };
  }
  if (expectation.gitBlob !== undefined && gitBlob !== undefined && expectation.gitBlob !== gitBlob) {
    return { problem: "has the wrong git id", expected: expectation.gitBlob, got: gitBlob };
  }
  return undefined;
}

async function readState(target: string, key: string): Promise<ResumeState | undefined> {
  try {
    const text = await readFile(`${target}.partial.json`, "utf8");
    const state: unknown = JSON.parse(text);
    if (typeof state !== "object" || state === null || (state as ResumeState).key !== key) return undefined;
    const validator = (state as ResumeState).validator;
    return typeof validator === "string" && /^[\x20-\x7e]{1,256}$/.test(validator) ? { key, validator } : { key };
  } catch {
    return undefined; // absent or damaged: the download begins anew
  }
}

/** Makes a rename durable; Windows has no such call and needs none. */
async function syncFolder(folder: string): Promise<void> {
  if (process.platform === "win32") return;
  const handle = await open(folder, "r");
  try {
    await handle.sync();
  } finally {
    await handle.close();
  }
}
