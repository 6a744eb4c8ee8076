import { HalfbyteError } from "../../errors.ts";
import type { Plan } from "../../plan/plan.ts";
import { chooseKernel } from "../choose-kernel.ts";
import type {
  Executor,
  ExecutorInfo,
  LoadOptions,
  PlanRunner,
  PreparedExecutor,
  Rejected,
  WeightSet,
} from "../executor.ts";
import { kernelModule } from "./binaries.ts";
import { type ComputePool, InlinePool, WorkerPool } from "./compute-pool.ts";
import { noSharedMemory, type WasmKernel, wasmKernels } from "./features.ts";
import { KernelMemory } from "./kernel-memory.ts";
import { loadWeights } from "./load-weights.ts";
import { mapMemory, writePlan } from "./memory-map.ts";
import { currentPlatform } from "./platform.ts";
import { WasmRunner } from "./runner.ts";

/** More threads than a pool can usefully hold together at the pace of a token. */
const MOST_THREADS = 256;

/** WebAssembly kernels on a pool of workers, or on the calling thread where memory cannot be shared. */
export const wasmExecutor: Executor = wasmExecutorWith({});

/** `inline: true` computes on the calling thread even where workers could. */
export function wasmExecutorWith({ inline = false }: { inline?: boolean }): Executor {
  return {
    name: "wasm",
    unavailable: async () => wasmKernels().at(-1)!.unavailable,
    kernels: async () => wasmKernels(),
    load: async (plan, weights, options = {}) => (await prepare(options, inline)).load(plan, weights),
    prepare: (options = {}) => prepare(options, inline),
  };
}

/** What a load needs of no plan. */
interface Start {
  readonly info: ExecutorInfo;
  readonly module: Promise<WebAssembly.Module>;
  /** Undefined where the calling thread does the work. */
  readonly workers: WorkerPool | undefined;
}

async function prepare(options: LoadOptions, forceInline: boolean): Promise<PreparedExecutor> {
  const platform = await currentPlatform();
  const chosen = chooseKernel("wasm", wasmKernels(), options);
  const kernel = chosen.kernel as WasmKernel;
  const rejected: Rejected[] = [...(options.rejected ?? []), ...chosen.rejected];
  const unshared = forceInline ? "asked for" : noSharedMemory();
  const shared = unshared === undefined;
  const threads = shared ? checkThreads(options.threads ?? platform.defaultThreads()) : 1;
  if (!shared) rejected.push({ kernel: "threads", reason: unshared });
  const reason = `${options.kernel ? "asked for" : `best here: ${kernel}`}, ${shared ? "workers" : "on the calling thread"}`;
  const module = kernelModule(kernel, shared, platform);
  module.catch(() => {}); // load says it
  const workers = shared ? new WorkerPool(threads, platform.spawnThread) : undefined;
  const start: Start = { info: { name: "wasm", kernel, threads, reason, rejected }, module, workers };
  return {
    load: (plan, weights) => load(plan, weights, options, start),
    dispose: async () => workers?.dispose(),
  };
}

async function load(
  plan: Plan,
  weights: WeightSet,
  options: LoadOptions,
  { info, module, workers }: Start,
): Promise<PlanRunner> {
  try {
    checkPlan(plan);
    const map = mapMemory(plan, info.threads);
    const memory = KernelMemory.allocate(map.end, workers !== undefined);
    writePlan(plan, map, memory);
    const pool = startPool(await module, memory.memory, workers);
    await loadWeights(plan, weights, map, memory, pool, options);
    await workers?.ready();
    return new WasmRunner(plan, info, memory, map, pool);
  } catch (error) {
    await workers?.dispose();
    throw error;
  }
}

function startPool(
  module: WebAssembly.Module,
  memory: WebAssembly.Memory,
  workers: WorkerPool | undefined,
): ComputePool {
  workers?.begin(module, memory);
  return workers ?? new InlinePool(module, memory);
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
