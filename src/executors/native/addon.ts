import { createRequire } from "node:module";
import { fileURLToPath } from "node:url";
import { type ErrorCode, HalfbyteError } from "../../errors.ts";

/** A runner inside the addon. */
export type Handle = { readonly halfbyte: unique symbol };

/** What native/addon.cc exports; its comments say what each does. */
export interface Addon {
  kernels(): { name: string; reason: string }[];
  machine(): { cpu: string; threads: number };
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

const require: NodeJS.Require = createRequire(import.meta.url);

/** Platform as the binary packages name it: linux-x64-gnu, darwin-arm64, … */
function platformName(): string {
  const { platform, arch } = process;
  if (platform !== "linux") return `${platform}-${arch}`;
  const { header } = process.report.getReport() as { header: { glibcVersionRuntime?: string } };
  return `${platform}-${arch}-${header.glibcVersionRuntime ? "gnu" : "musl"}`;
}

/** Where the addon may be: built here, or in the platform's package; or where HALFBYTE_ADDON says. */
function candidates(): { place: string; remedy: string }[] {
  const platform = platformName();
  const forced = process.env["HALFBYTE_ADDON"];
  if (forced) return [{ place: forced, remedy: "unset HALFBYTE_ADDON" }];
  return [
    {
      place: fileURLToPath(new URL(`../../../build/native/halfbyte-${platform}.node`, import.meta.url)),
      remedy: "npm run build:native, which needs a C++20 compiler",
    },
    { place: `halfbyte-${platform}/halfbyte.node`, remedy: `npm install halfbyte-${platform}` },
  ];
}

let loaded: Addon | undefined;

/** The addon, loaded once. Throws ERR_EXECUTOR that lists every place looked at, with its remedy. */
export function loadAddon(): Addon {
  if (loaded) return loaded;
  const failures: string[] = [];
  for (const { place, remedy } of candidates()) {
    try {
      loaded = require(place) as Addon;
      return loaded;
    } catch (error) {
      const [reason] = String((error as Error).message).split("\n");
      failures.push(`${place}: ${reason}; remedy: ${remedy}`);
    }
  }
  throw new HalfbyteError("ERR_EXECUTOR", `the native executor is not built for this platform\n${failures.join("\n")}`);
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
