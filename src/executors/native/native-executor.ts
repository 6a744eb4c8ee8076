import { HalfbyteError } from "../../errors.ts";
import type { Plan } from "../../plan/plan.ts";
import { chooseKernel } from "../choose-kernel.ts";
import type { Executor, ExecutorInfo, KernelState, LoadOptions, PlanRunner, WeightSet } from "../executor.ts";
import { cpuBudget } from "../threads-node.ts";
import { type Addon, loadAddon } from "./addon.ts";
import { createRunner } from "./native-runner.ts";

/** More threads than a pool can usefully hold together at the pace of a token. */
const MOST_THREADS = 256;

/** C++ kernels on a pool of threads: the fastest executor, for Node on CPUs it was built for. */
export const nativeExecutor: Executor = {
  name: "native",
  unavailable: async () => {
    try {
      loadAddon();
      return undefined;
    } catch (error) {
      return (error as Error).message;
    }
  },
  outdone: async () => slowReason(loadAddon()),
  kernels: async () => nativeKernels(loadAddon()),
  async load(plan: Plan, weights: WeightSet, options: LoadOptions = {}): Promise<PlanRunner> {
    const addon = loadAddon();
    return createRunner(addon, plan, weights, executorInfo(addon, options), options);
  },
};

function nativeKernels(addon: Addon): KernelState[] {
  return addon.kernels().map(({ name, reason }) => ({ name, unavailable: reason || undefined }));
}

/** Why this CPU is better served by WebAssembly: its vectors beat the scalar kernel. */
function slowReason(addon: Addon): string | undefined {
  const best = nativeKernels(addon).find(({ unavailable }) => unavailable === undefined);
  if (best?.name !== "scalar") return undefined;
  return `only its scalar kernel runs on this ${addon.cpu()}; WebAssembly is faster`;
}

function executorInfo(addon: Addon, options: LoadOptions): ExecutorInfo {
  const { threads } = options;
  if (threads !== undefined && !(Number.isInteger(threads) && threads >= 1 && threads <= MOST_THREADS))
    throw new HalfbyteError("ERR_ARGUMENT", "bad number of threads", {
      place: "threads",
      expected: `1 to ${MOST_THREADS}`,
      got: String(threads),
    });
  const { kernel, rejected } = chooseKernel("native", nativeKernels(addon), options);
  return {
    name: "native",
    kernel,
    threads: threads ?? cpuBudget().threads,
    reason: options.kernel === undefined ? `the best that this ${addon.cpu()} can run` : "asked for",
    rejected: [...(options.rejected ?? []), ...rejected],
  };
}
