import { mkdtemp, open as openFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import fc from "fast-check";
import { afterAll, describe, expect, it } from "vitest";
import { blobSource } from "./blob-source.ts";
import { type ByteSource, readBytes } from "./byte-source.ts";
import { joinedSource } from "./joined-source.ts";
import { memorySource } from "./memory-source.ts";
import { openFileSource } from "./node-file-source.ts";

const SIZE = 10_000;
const bytes = Uint8Array.from({ length: SIZE }, (_, i) => (i * 7919) >> 3);
const folder = await mkdtemp(join(tmpdir(), "halfbyte-sources-"));
const path = join(folder, "bytes");
await writeFile(path, bytes);
afterAll(() => rm(folder, { recursive: true }));

function pieces(): ByteSource[] {
  const ends = [0, 0, 1, 4000, 4000, 7500, SIZE];
  return ends.slice(1).map((end, i) => memorySource(bytes.subarray(ends[i], end), `piece ${i}`));
}

const kinds: [string, () => Promise<ByteSource>][] = [
  ["memory", async () => memorySource(bytes)],
  ["a shared memory", async () => memorySource(new Uint8Array(new SharedArrayBuffer(SIZE)).map((_, i) => bytes[i]!))],
  ["an ArrayBuffer", async () => memorySource(bytes.buffer)],
  ["a Blob", async () => blobSource(new Blob([bytes]))],
  ["a file", () => openFileSource(path)],
  ["joined pieces", async () => joinedSource(pieces())],
  ["a file and a Blob joined", async () => joinedSource([await openFileSource(path), blobSource(new Blob([]))])],
];

describe.each(kinds)("%s", (_, open) => {
  it("gives the bytes of any range, also into shared memory", async () => {
    const source = await open();
    expect(source.size).toBe(SIZE);
    await fc.assert(
      fc.asyncProperty(fc.nat(SIZE), fc.nat(SIZE), fc.boolean(), async (a, b, shared) => {
        const [from, to] = [Math.min(a, b), Math.max(a, b)];
        const target = new Uint8Array(shared ? new SharedArrayBuffer(to - from + 2) : new ArrayBuffer(to - from + 2));
        await source.readInto(from, target.subarray(1, 1 + to - from));
        expect(Buffer.compare(target.slice(1, -1), bytes.subarray(from, to))).toBe(0);
        expect([target[0], target.at(-1)]).toEqual([0, 0]);
      }),
      { numRuns: 50 },
    );
    await source.close();
  });

  it("refuses ranges that are not inside it before it allocates", async () => {
    const source = await open();
    await expect(source.readInto(SIZE - 1, new Uint8Array(2))).rejects.toMatchObject({ code: "ERR_TRUNCATED" });
    await expect(readBytes(source, 0, 2 ** 52)).rejects.toMatchObject({ code: "ERR_TRUNCATED" });
    await expect(readBytes(source, 2 ** 52, 1)).rejects.toMatchObject({ code: "ERR_TRUNCATED" });
    for (const offset of [-1, 0.5, Number.NaN, 2 ** 53]) {
      await expect(source.readInto(offset, new Uint8Array(1))).rejects.toMatchObject({ code: "ERR_ARGUMENT" });
    }
    await expect(readBytes(source, 0, -1)).rejects.toMatchObject({ code: "ERR_ARGUMENT" });
    expect(await readBytes(source, SIZE, 0)).toEqual(new Uint8Array(0));
    await source.close();
  });

  it("reads nothing once it is closed, and may be closed twice", async () => {
    const source = await open();
    await Promise.all([source.close(), source.close()]);
    await source.close();
    await expect(source.readInto(0, new Uint8Array(1))).rejects.toMatchObject({ code: "ERR_DISPOSED" });
  });

  it("serves several reads at once", async () => {
    const source = await open();
    const reads = Array.from({ length: 20 }, (_, i) => readBytes(source, i * 100, 5000));
    for (const [i, read] of (await Promise.all(reads)).entries()) {
      expect(Buffer.compare(read, bytes.subarray(i * 100, i * 100 + 5000))).toBe(0);
    }
    await source.close();
  });
});

describe("a file", () => {
  it("that is missing or no file is refused by its path", async () => {
    await expect(openFileSource(join(folder, "none"))).rejects.toMatchObject({
      code: "ERR_MISSING",
      place: join(folder, "none"),
    });
    await expect(openFileSource(folder)).rejects.toMatchObject({ code: "ERR_IO" });
  });

  it("that shrinks while it is open is reported as cut", async () => {
    const shrinking = join(folder, "shrinking");
    await writeFile(shrinking, bytes);
    const source = await openFileSource(shrinking);
    const handle = await openFile(shrinking, "r+");
    await handle.truncate(100);
    await handle.close();
    await expect(readBytes(source, 0, SIZE)).rejects.toMatchObject({
      code: "ERR_TRUNCATED",
      place: `${shrinking} at byte 100`,
    });
    await source.close();
  });
});

it("a Blob that the browser cannot read any more is ERR_IO, and one that gives too little ERR_TRUNCATED", async () => {
  class BrokenBlob extends Blob {
    override slice(): Blob {
      const failed = async (): Promise<never> => Promise.reject(new Error("NotReadableError"));
      return Object.assign(new Blob([]), { arrayBuffer: failed });
    }
  }
  class ShortBlob extends Blob {
    override slice(): Blob {
      return new Blob(["x"]);
    }
  }
  await expect(readBytes(blobSource(new BrokenBlob([bytes])), 0, 10)).rejects.toMatchObject({ code: "ERR_IO" });
  await expect(readBytes(blobSource(new ShortBlob([bytes])), 0, 10)).rejects.toMatchObject({ code: "ERR_TRUNCATED" });
});

it("joined pieces close their parts and say which one failed", async () => {
  const parts = pieces();
  const source = joinedSource(parts);
  await parts[2]!.close();
  await expect(readBytes(source, 0, SIZE)).rejects.toMatchObject({ code: "ERR_DISPOSED", place: "piece 2" });
  await source.close();
  await expect(parts[5]!.readInto(0, new Uint8Array(1))).rejects.toMatchObject({ code: "ERR_DISPOSED" });
});
