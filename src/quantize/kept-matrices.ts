import { mkdir, open, readFile, rename, rm, stat, writeFile } from "node:fs/promises";
import { basename, dirname, join, resolve } from "node:path";
import { HalfbyteError } from "../errors.ts";
import { type ByteSource, readBytes } from "../formats/byte-source.ts";
import { openFileSource } from "../formats/node-file-source.ts";
import type { MatrixSource } from "../weights/matrix-source.ts";
import type { GroupValues, QuantizedMatrix } from "../weights/quantized-matrix.ts";
import type { Grid } from "./grid.ts";
import { emptyMatrix } from "./quantized-source.ts";

const KEY_FILE = "quantization.txt";

/**
 * Matrices that are done, in a hidden folder beside the output: read from there when all is written, and taken up again when
 * the same work is begun anew after an interruption. Codes stand there a byte each.
 */
export class KeptMatrices {
  readonly folder: string;
  readonly #sources: ByteSource[] = [];
  readonly #vectors: Map<string, Float32Array> = new Map();

  private constructor(folder: string) {
    this.folder = folder;
  }

  /** The folder beside `output`, emptied where it holds the work of another `key`. */
  static async open(output: string, key: string): Promise<KeptMatrices> {
    const target = resolve(output);
    const folder = join(dirname(target), `.${basename(target)}.quantizing`);
    const file = join(folder, KEY_FILE);
    try {
      const known = await readFile(file, "utf8").catch(() => undefined);
      if (known !== key) await rm(folder, { recursive: true, force: true });
      await mkdir(folder, { recursive: true });
      if (known !== key) await writeFile(file, key);
    } catch (cause) {
      throw cannotKeep("cannot keep matrices beside the output", folder, cause);
    }
    return new KeptMatrices(folder);
  }

  /** The matrix of that name, if it is there. */
  async get(name: string, N: number, K: number, grid: Grid): Promise<MatrixSource | undefined> {
    const path = this.#path(name);
    const size = (await stat(path).catch(() => undefined))?.size;
    const sizes = rowParts(K, grid);
    if (size !== N * sizes.reduce((sum, bytes) => sum + bytes, 0)) return undefined;
    const source = await openFileSource(path);
    this.#sources.push(source);
    const like = emptyMatrix(K, grid);
    return {
      name,
      N,
      K,
      rowBytes: (K * grid.bits) / 8,
      like,
      async readRows(first, count) {
        const parts: Uint8Array<ArrayBuffer>[] = [];
        let before = 0;
        for (const bytes of sizes) {
          parts.push(await readBytes(source, N * before + first * bytes, count * bytes));
          before += bytes;
        }
        return fromParts(like, count, parts);
      },
    };
  }

  /** Numbers that were put. */
  async vector(name: string): Promise<Float32Array | undefined> {
    const known = this.#vectors.get(name);
    if (known) return known;
    const bytes = await readFile(this.#path(name, "vector")).catch(() => undefined);
    if (!bytes || bytes.byteLength % 4 !== 0) return undefined;
    const values = new Float32Array(new Uint8Array(bytes).buffer);
    this.#vectors.set(name, values);
    return values;
  }

  async putVector(name: string, values: Float32Array): Promise<void> {
    await this.#write(this.#path(name, "vector"), [
      new Uint8Array(values.buffer, values.byteOffset, values.byteLength),
    ]);
    this.#vectors.set(name, values);
  }

  /** Takes a matrix; it is there when all of it is. */
  async put(name: string, matrix: QuantizedMatrix): Promise<void> {
    await this.#write(this.#path(name), partsOf(matrix));
  }

  async #write(path: string, parts: readonly Uint8Array[]): Promise<void> {
    try {
      const handle = await open(`${path}.new`, "w");
      try {
        for (const part of parts) await handle.writeFile(part);
      } finally {
        await handle.close();
      }
      await rename(`${path}.new`, path);
    } catch (cause) {
      throw cannotKeep("cannot keep a matrix beside the output", path, cause);
    }
  }

  /** Closes the files; they stay. */
  async close(): Promise<void> {
    await Promise.all(this.#sources.splice(0).map((source) => source.close()));
  }

  /** Closes and removes all. */
  async remove(): Promise<void> {
    await this.close();
    await rm(this.folder, { recursive: true, force: true });
  }

  #path(name: string, kind: "matrix" | "vector" = "matrix"): string {
    return join(this.folder, `${encodeURIComponent(name)}.${kind}`);
  }
}

function cannotKeep(problem: string, place: string, cause: unknown): HalfbyteError {
  // `ENOENT: no such file or directory, mkdir …`: the call and its path are no news.
  const [reason] = (cause instanceof Error ? cause.message : String(cause)).split(",");
  return new HalfbyteError("ERR_IO", `${problem}: ${reason}`, { place, cause });
}

/** Bytes of one row of each part: codes, scales, then zeros or offsets; two-level values are two parts. */
function rowParts(K: number, { kind, groupSize, scaleType, superSize }: Grid): number[] {
  const groups = K / groupSize;
  const values = superSize === undefined ? [groups * (scaleType === "f32" ? 4 : 2)] : [groups, (K / superSize) * 2];
  return [K, ...values, ...(kind === "zero-point" ? [groups] : kind === "offset" ? values : [])];
}

function partsOf({ codes, scale, zero, offset }: QuantizedMatrix): Uint8Array[] {
  const values = (all: GroupValues): Uint8Array[] =>
    "superSize" in all ? [all.codes, bytesOf(all.superValues)] : [bytesOf(all.values)];
  return [codes, ...values(scale), ...(typeof zero === "number" ? [] : [zero]), ...(offset ? values(offset) : [])];
}

function fromParts(like: QuantizedMatrix, N: number, parts: Uint8Array<ArrayBuffer>[]): QuantizedMatrix {
  const next = (): Uint8Array<ArrayBuffer> => parts.shift()!;
  const values = (all: GroupValues): GroupValues => {
    if ("superSize" in all) return { ...all, codes: next(), superValues: new Uint16Array(next().buffer) };
    if (all.kind === "f32") return { kind: "f32", values: new Float32Array(next().buffer) };
    return { kind: all.kind, values: new Uint16Array(next().buffer) };
  };
  const codes = next();
  const scale = values(like.scale);
  const zero = typeof like.zero === "number" ? like.zero : next();
  return { ...like, N, codes, scale, zero, ...(like.offset && { offset: values(like.offset) }) };
}

function bytesOf({ buffer, byteOffset, byteLength }: Uint16Array | Float32Array): Uint8Array {
  return new Uint8Array(buffer, byteOffset, byteLength);
}
