import { HalfbyteError } from "../../errors.ts";
import type { WasmKernel } from "./features.ts";
import type { Platform } from "./platform.ts";

// Written out, so that bundlers find the files.
const BINARIES = {
  simd: new URL("./build/halfbyte-simd.wasm", import.meta.url),
  "relaxed-simd": new URL("./build/halfbyte-relaxed-simd.wasm", import.meta.url),
  "simd-threads": new URL("./build/halfbyte-simd-threads.wasm", import.meta.url),
  "relaxed-simd-threads": new URL("./build/halfbyte-relaxed-simd-threads.wasm", import.meta.url),
} as const;

const compiled = new Map<string, Promise<WebAssembly.Module>>();

/** The compiled kernels, kept for the next model. Throws ERR_EXECUTOR when their file is not there or not valid. */
export function kernelModule(kernel: WasmKernel, shared: boolean, platform: Platform): Promise<WebAssembly.Module> {
  const name = shared ? (`${kernel}-threads` as const) : kernel;
  let module = compiled.get(name);
  if (!module) {
    const binary = BINARIES[name];
    module = platform.compile(binary).catch((cause) => {
      compiled.delete(name);
      throw new HalfbyteError("ERR_EXECUTOR", "cannot load the WebAssembly kernels", {
        place: binary.href,
        got: String(cause),
        remedy: "in a source tree, npm run build:wasm makes them",
        cause,
      });
    });
    compiled.set(name, module);
  }
  return module;
}
