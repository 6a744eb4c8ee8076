import { HalfbyteError } from "../../errors.ts";
import type { Plan } from "../../plan/plan.ts";
import type { Executor, ExecutorInfo, LoadOptions, PlanRunner, Rejected, WeightSet } from "../executor.ts";
import { type Addon, loadAddon } from "./addon.ts";
import { createRunner } from "./native-runner.ts";

/** C++ kernels on a pool of threads: the fastest executor, for Node on CPUs it was built for. */
export const nativeExecutor: Executor = {
  name: "native",
  unavailable: async () => {
    try {
      return slowReason(loadAddon());
    } catch (error) {
      return (error as Error).message;
    }
  },
  async load(plan: Plan, weights: WeightSet, options: LoadOptions = {}): Promise<PlanRunner> {
    const addon = loadAddon();
    return createRunner(addon, plan, weights, chooseKernel(addon, options), options);
  },
};

/** Names of all kernels in this build, best first, each with why this CPU cannot run it, or undefined. */
export function nativeKernels(): { name: string; reason: string | undefined }[] {
  return loadAddon()
    .kernels()
    .map(({ name, reason }) => ({ name, reason: reason || undefined }));
}

/** Why this CPU is better served by WebAssembly: its vectors beat the scalar kernel. */
function slowReason(addon: Addon): string | undefined {
  const kernels = addon.kernels();
  if (kernels.find(({ reason }) => !reason)!.name !== "scalar") return undefined;
  const rejected = kernels.filter(({ reason }) => reason).map(({ name, reason }) => `${name}: ${reason}`);
  return `only the scalar kernel runs on ${addon.machine().cpu} (${rejected.join("; ")}); WebAssembly is faster`;
}

function chooseKernel(addon: Addon, { kernel, threads }: LoadOptions): ExecutorInfo {
  const all = addon.kernels();
  const { cpu, threads: usable } = addon.machine();
  if (threads !== undefined && !(Number.isInteger(threads) && threads >= 1 && threads <= 256))
    throw new HalfbyteError("ERR_ARGUMENT", "bad thread count", { expected: "1 to 256", got: `${threads}` });
  const chosen = all.find(({ name, reason }) => (kernel === undefined ? !reason : name === kernel));
  if (!chosen || chosen.reason)
    throw new HalfbyteError("ERR_EXECUTOR", `kernel ${kernel} cannot run here`, {
      expected: `one of ${all
        .filter(({ reason }) => !reason)
        .map(({ name }) => name)
        .join(", ")}`,
      got: chosen?.reason ?? "no kernel of that name",
    });
  const rejected: Rejected[] = [];
  for (const { name, reason } of all.slice(0, all.indexOf(chosen)))
    rejected.push({ kernel: name, reason: reason || `${kernel} was asked for` });
  return {
    name: "native",
    kernel: chosen.name,
    threads: threads ?? usable,
    reason: kernel === undefined ? `the best that ${cpu} can run` : "asked for",
    rejected,
  };
}
