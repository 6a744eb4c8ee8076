import { HalfbyteError } from "../../errors.ts";
import type { Plan } from "../../plan/plan.ts";
import type { Executor, ExecutorInfo, LoadOptions, PlanRunner, Rejected, WeightSet } from "../executor.ts";
import { kernelModule } from "./binaries.ts";
import { type ComputePool, InlinePool, WorkerPool } from "./compute-pool.ts";
import { hasSimd, noRelaxedSimd, noSharedMemory, type WasmKernel } from "./features.ts";
import { KernelMemory } from "./kernel-memory.ts";
import { loadWeights } from "./load-weights.ts";
import { mapMemory, writePlan } from "./memory-map.ts";
import { currentPlatform, type Platform } from "./platform.ts";
import { WasmRunner } from "./runner.ts";

/** More threads than a pool can usefully hold together at the pace of a token. */
const MOST_THREADS = 256;

/** WebAssembly kernels on a pool of workers, or on the calling thread where memory cannot be shared. */
export const wasmExecutor: Executor = wasmExecutorWith({});

/** `inline: true` computes on the calling thread even where workers could. */
export function wasmExecutorWith({ inline = false }: { inline?: boolean }): Executor {
  return {
    name: "wasm",
    async unavailable() {
      return hasSimd() ? undefined : "this engine's WebAssembly has no SIMD";
    },
    load: (plan, weights, options = {}) => load(plan, weights, options, inline),
  };
}

async function load(plan: Plan, weights: WeightSet, options: LoadOptions, forceInline: boolean): Promise<PlanRunner> {
  checkPlan(plan);
  const platform = await currentPlatform();
  const { kernel, rejected } = chooseKernel(options.kernel);
  const unshared = forceInline ? "asked for" : noSharedMemory();
  const shared = unshared === undefined;
  const threads = shared ? checkThreads(options.threads ?? platform.defaultThreads()) : 1;
  if (!shared) rejected.push({ kernel: "threads", reason: unshared });
  const module = await kernelModule(kernel, shared, platform);
  const map = mapMemory(plan);
  const memory = KernelMemory.allocate(map.end, shared);
  writePlan(plan, map, memory);
  const pool = startPool(module, memory, threads, shared, platform);
  try {
    await loadWeights(plan, weights, map, memory, pool, options);
  } catch (error) {
    await pool.dispose();
    throw error;
  }
  const info: ExecutorInfo = {
    name: "wasm",
    kernel,
    threads,
    reason: `${options.kernel ? "asked for" : `best here: ${kernel}`}, ${shared ? "workers" : "on the calling thread"}`,
    rejected,
  };
  return new WasmRunner(plan, info, memory, map, pool);
}

function startPool(
  module: WebAssembly.Module,
  memory: KernelMemory,
  threads: number,
  shared: boolean,
  platform: Platform,
): ComputePool {
  return shared
    ? new WorkerPool(module, memory.memory, threads, platform.spawnThread)
    : new InlinePool(module, memory.memory);
}

function chooseKernel(wanted: string | undefined): { kernel: WasmKernel; rejected: Rejected[] } {
  const missing = noRelaxedSimd();
  if (wanted === undefined)
    return missing ? { kernel: "simd", rejected: [missing] } : { kernel: "relaxed-simd", rejected: [] };
  if (wanted === "simd")
    return { kernel: "simd", rejected: [{ kernel: "relaxed-simd", reason: "simd was asked for" }] };
  if (wanted !== "relaxed-simd")
    throw new HalfbyteError("ERR_EXECUTOR", "the WebAssembly executor has no such kernel", {
      expected: "simd or relaxed-simd",
      got: wanted,
    });
  if (missing) throw new HalfbyteError("ERR_EXECUTOR", `the kernel relaxed-simd cannot run here: ${missing.reason}`);
  return { kernel: "relaxed-simd", rejected: [] };
}

function checkThreads(threads: number): number {
  if (!Number.isInteger(threads) || threads < 1 || threads > MOST_THREADS)
    throw new HalfbyteError("ERR_ARGUMENT", "bad number of threads", {
      place: "threads",
      expected: `1 to ${MOST_THREADS}`,
      got: String(threads),
    });
  return threads;
}

/** Attention works on four dims at a time. */
function checkPlan(plan: Plan): void {
  if (plan.cache.headSize % 4 !== 0)
    throw new HalfbyteError("ERR_UNSUPPORTED", "the WebAssembly executor needs heads of a multiple of 4 dims", {
      got: String(plan.cache.headSize),
    });
}
