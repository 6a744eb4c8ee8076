import { execFileSync } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import asc from "assemblyscript/asc";
import type { ChromiumBench } from "./chromium.ts";

/** Bytes read per second by one thread and by two: the best of several rounds, since it stands for a ceiling. */
export interface ReadCeiling {
  readonly one: number;
  readonly two: number;
}

const MEMORY_PAGES = 4096; // of 64 KiB

const SUM = `
export function sum(from: usize, to: usize, passes: i32): i32 {
  let a = i32x4.splat(0), b = a, c = a, d = a;
  for (let pass = 0; pass < passes; pass++) {
    for (let at = from; at < to; at += 64) {
      a = i32x4.add(a, v128.load(at));
      b = i32x4.add(b, v128.load(at, 16));
      c = i32x4.add(c, v128.load(at, 32));
      d = i32x4.add(d, v128.load(at, 48));
    }
  }
  return i32x4.extract_lane(i32x4.add(i32x4.add(a, b), i32x4.add(c, d)), 0);
}`;

/** Plain SIMD loads in WebAssembly, in the very browser that runs the arms. */
export async function wasmReadCeiling(chromium: ChromiumBench): Promise<ReadCeiling> {
  const { binary, error, stderr } = await asc.compileString(SUM, {
    optimizeLevel: 3,
    runtime: "stub",
    enable: ["simd", "threads"],
    importMemory: true,
    sharedMemory: true,
    initialMemory: MEMORY_PAGES,
    maximumMemory: MEMORY_PAGES,
  });
  if (error || !binary) throw new Error(stderr.toString());
  return chromium.inPage("page-read.mjs", { binary: Array.from(binary), pages: MEMORY_PAGES });
}

/** A loop in C++, or undefined where there is no g++. */
export function nativeReadCeiling(): ReadCeiling | undefined {
  const folder = mkdtempSync(join(tmpdir(), "halfbyte-read-"));
  try {
    const program = join(folder, "read-ceiling");
    const source = fileURLToPath(new URL("./read-ceiling.cpp", import.meta.url));
    execFileSync("g++", ["-O3", "-march=native", "-pthread", "-o", program, source], { stdio: "ignore" });
    const [one, two] = execFileSync(program, { encoding: "utf8" }).trim().split("\n").map(Number) as [number, number];
    return { one, two };
  } catch {
    return undefined;
  } finally {
    rmSync(folder, { recursive: true });
  }
}
