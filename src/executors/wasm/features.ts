import type { KernelState } from "../executor.ts";

/** Instruction sets the kernels are built for. */
export type WasmKernel = "simd" | "relaxed-simd";

/** A module whose one function uses the instruction in `code`: valid where the engine has it. */
function validates(code: readonly number[]): boolean {
  const body = [0, ...code, 0x1a, 0x0b];
  const module = [0, 0x61, 0x73, 0x6d, 1, 0, 0, 0, 1, 4, 1, 0x60, 0, 0, 3, 2, 1, 0];
  return WebAssembly.validate(Uint8Array.from([...module, 10, body.length + 2, 1, body.length, ...body]));
}

const I32_CONST_0 = [0x41, 0];
const I8X16_SPLAT = [0xfd, 0x0f];
const I16X8_RELAXED_DOT = [0xfd, 0x92, 0x02];

function hasSimd(): boolean {
  return typeof WebAssembly !== "undefined" && validates([...I32_CONST_0, ...I8X16_SPLAT]);
}

export function hasRelaxedSimd(): boolean {
  const splat = [...I32_CONST_0, ...I8X16_SPLAT];
  return validates([...splat, ...splat, ...I16X8_RELAXED_DOT]);
}

/** Undefined where memory can be shared with workers, else the reason it cannot. */
export function noSharedMemory(): string | undefined {
  if (typeof SharedArrayBuffer === "undefined" || globalThis.crossOriginIsolated === false)
    return "memory cannot be shared: the page is not cross-origin isolated";
  return undefined;
}

/** The kernels, best first. */
export function wasmKernels(): (KernelState & { readonly name: WasmKernel })[] {
  const simd = hasSimd() ? undefined : "this engine's WebAssembly has no SIMD";
  return [
    { name: "relaxed-simd", unavailable: simd ?? noRelaxedSimd() },
    { name: "simd", unavailable: simd },
  ];
}

/** Why an engine has no relaxed SIMD, or undefined where it has. */
function noRelaxedSimd(): string | undefined {
  if (hasRelaxedSimd()) return undefined;
  const old = typeof process !== "undefined" && process.versions?.node?.startsWith("20.");
  return old
    ? "Node 20 has relaxed SIMD only with --experimental-wasm-relaxed-simd; Node 22 and later always"
    : "this engine's WebAssembly has no relaxed SIMD";
}
