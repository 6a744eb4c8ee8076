import type { ErrorCode } from "../../errors.ts";
import { HalfbyteError } from "../../errors.ts";
import { addonCandidates, loadFirst } from "./addon-candidates.ts";

/** A runner inside the addon. */
export type Handle = { readonly halfbyte: unique symbol };

/** What native/addon.cc exports; its comments say what each does. */
export interface Addon {
  kernels(): { name: string; reason: string }[];
  cpu(): string;
  create(
    ops: Int32Array,
    matrices: Int32Array,
    vectors: readonly Float32Array[],
    ropeTables: Int32Array,
    shape: Float64Array,
    kernel: string,
  ): Handle;
  matrixBytes(handle: Handle, matrix: number): ArrayBuffer;
  logits(handle: Handle, offset: number, bytes: number): ArrayBuffer;
  ensureBlocks(handle: Handle, count: number): number;
  step(
    handle: Handle,
    tokenIds: Int32Array,
    segments: Int32Array,
    blocks: Int32Array,
    logitRows: Int32Array,
    angles: Float32Array,
    logitCount: number,
  ): Promise<boolean>;
  read(handle: Handle, offset: number, bytes: number): ArrayBuffer;
  canPack(ggmlType: number): boolean;
  pack(
    handle: Handle,
    matrix: number,
    ggmlType: number,
    firstRow: number,
    rows: number,
    bytes: Uint8Array,
  ): Promise<boolean>;
  cancel(handle: Handle): void;
  release(handle: Handle): void;
  detach(buffer: ArrayBuffer): void;
}

let loaded: Addon | undefined;

/** The addon, loaded once. Throws ERR_EXECUTOR that lists every place looked at, with its remedy. */
export function loadAddon(): Addon {
  loaded ??= loadFirst(addonCandidates()) as Addon;
  return loaded;
}

/** Runs a call into the addon; its errors become ours. */
export function calling<T>(call: () => T): T {
  try {
    return call();
  } catch (error) {
    const { code, message } = error as Error & { code?: ErrorCode };
    throw code?.startsWith("ERR_")
      ? new HalfbyteError(code, message, { place: "native executor", cause: error })
      : error;
  }
}
