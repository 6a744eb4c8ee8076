import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { setFlagsFromString } from "node:v8";
import asc from "assemblyscript/asc";
import { encodeMatrix } from "../../src/plan/encode.ts";
import { ACTIVATION_MAX, type ActivationMode } from "../../src/plan/plan.ts";
import type { PackedLayout } from "../../src/weights/packed-layout.ts";

const root: string = fileURLToPath(new URL("../..", import.meta.url));

/** wasm/control.ts, ACTIVATION_MAX. */
const ACTIVATION_MAX_AT = 228;
/** Past the control area. */
const HEAP = 1024;
const PAGE = 65536;

export type KernelBuild = "plain" | "relaxed";

interface KernelExports {
  readonly LINEAR_SCRATCH_BYTES: { readonly value: number };
  linearBlocks(...args: number[]): void;
  quantizeRow(...args: number[]): void;
  embedRow(matrix: number, token: number, multiplier: number, out: number): void;
  packRows(type: number, source: number, rows: number, matrix: number, firstBlock: number): number;
}

/** wasm/kernels.ts, compiled: the kernels alone. */
export async function compileKernels(build: KernelBuild): Promise<WebAssembly.Module> {
  if (build === "relaxed") allowRelaxedSimd();
  const folder = mkdtempSync(join(tmpdir(), "halfbyte-kernels-"));
  try {
    const path = join(folder, "kernels.wasm");
    const { error, stderr } = await asc.main([
      join(root, "wasm/kernels.ts"),
      ...["--outFile", path, "--baseDir", root, "-O3", "--noAssert", "--runtime", "stub", "--use", "abort="],
      ...["--enable", build === "relaxed" ? "simd,relaxed-simd" : "simd", "--importMemory"],
    ]);
    if (error) throw new Error(stderr.toString(), { cause: error });
    return await WebAssembly.compile(readFileSync(path));
  } finally {
    rmSync(folder, { recursive: true });
  }
}

/** Node 20 has relaxed SIMD behind a flag; later versions know no such flag and need none. */
function allowRelaxedSimd(): void {
  if (process.versions.node.startsWith("20.")) setFlagsFromString("--experimental-wasm-relaxed-simd");
}

export interface QuantizedShape {
  readonly K: number;
  readonly group: number;
  readonly run: number;
}

/** Rows in kernel memory. */
export interface PlacedRows {
  readonly address: number;
  readonly stride: number;
  readonly rows: number;
}

export interface PlacedQuantizedRows extends PlacedRows, QuantizedShape {
  readonly paddedK: number;
  readonly scaleAt: number;
  readonly sumAt: number;
}

export interface LinearOptions {
  readonly run?: number;
  /** Address of the biases. */
  readonly bias?: number;
  readonly residual?: PlacedRows;
  readonly first?: number;
  readonly last?: number;
}

const roundUp = (value: number, unit: number): number => Math.ceil(value / unit) * unit;

/** The kernels with a memory that only grows: enough for a test or a bench. */
export class Kernels {
  readonly exports: KernelExports;
  readonly #memory: WebAssembly.Memory;
  readonly #scratch: number;
  #end: number = HEAP;

  constructor(module: WebAssembly.Module, mode: ActivationMode) {
    this.#memory = new WebAssembly.Memory({ initial: 1, maximum: PAGE });
    const instance = new WebAssembly.Instance(module, { env: { memory: this.#memory } });
    this.exports = instance.exports as unknown as KernelExports;
    this.#scratch = this.allocate(this.exports.LINEAR_SCRATCH_BYTES.value);
    this.f32(ACTIVATION_MAX_AT, 1)[0] = ACTIVATION_MAX[mode];
  }

  allocate(bytes: number): number {
    const at = this.#end;
    this.#end += roundUp(bytes, 64);
    const missing = this.#end - this.#memory.buffer.byteLength;
    if (missing > 0) this.#memory.grow(Math.ceil(missing / PAGE));
    return at;
  }

  bytes(at: number, length: number): Uint8Array {
    return new Uint8Array(this.#memory.buffer, at, length);
  }
  f32(at: number, length: number): Float32Array {
    return new Float32Array(this.#memory.buffer, at, length);
  }
  i32(at: number, length: number): Int32Array {
    return new Int32Array(this.#memory.buffer, at, length);
  }

  /** A matrix record, and zeroed memory for its blocks. */
  matrix(layout: PackedLayout): { record: number; address: number } {
    const address = this.allocate(layout.byteLength);
    const words = encodeMatrix(layout, address);
    const record = this.allocate(words.byteLength);
    this.i32(record, words.length).set(words);
    return { record, address };
  }

  /** Rows of f32, 64 bytes apart or a multiple of it; what lies past their width is not zero. */
  rows(values: readonly Float32Array[], width: number): PlacedRows {
    const stride = roundUp(width * 4, 64);
    const address = this.allocate(values.length * stride);
    this.f32(address, (values.length * stride) / 4).fill(Number.NaN);
    values.forEach((row, m) => {
      this.f32(address + m * stride, width).set(row);
    });
    return { address, stride, rows: values.length };
  }

  quantize(input: PlacedRows, shape: QuantizedShape, mode: ActivationMode): PlacedQuantizedRows {
    const { K, group, run } = shape;
    const paddedK = roundUp(K, 32);
    const scaleAt = roundUp(paddedK * 2, 64);
    const sumAt = scaleAt + roundUp(Math.ceil(K / group) * 4, 64);
    const stride = sumAt + roundUp(Math.ceil(K / run) * 4, 64);
    const address = this.allocate(input.rows * stride);
    this.bytes(address, input.rows * stride).fill(0x55);
    for (let m = 0; m < input.rows; m++)
      this.exports.quantizeRow(
        input.address + m * input.stride,
        address + m * stride,
        ...[K, paddedK, group, run, scaleAt, sumAt, ACTIVATION_MAX[mode]],
      );
    return { ...shape, paddedK, scaleAt, sumAt, address, stride, rows: input.rows };
  }

  linear(
    input: PlacedRows | PlacedQuantizedRows,
    layout: PackedLayout,
    record: number,
    out: PlacedRows,
    { run = 0, bias = 0, residual, first = 0, last = layout.blocks }: LinearOptions = {},
  ): void {
    const q = "group" in input ? input : undefined;
    this.exports.linearBlocks(
      ...[
        input.address,
        input.stride,
        Number(q !== undefined),
        q?.group ?? 0,
        q?.run ?? 0,
        q?.scaleAt ?? 0,
        q?.sumAt ?? 0,
      ],
      ...[record, bias, out.address, out.stride, residual?.address ?? 0, residual?.stride ?? 0],
      ...[run, first, last, input.rows, this.#scratch],
    );
  }
}
