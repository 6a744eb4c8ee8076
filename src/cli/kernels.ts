import { chooseKernel } from "../executors/choose-kernel.ts";
import type { Executor, ExecutorInfo, KernelState } from "../executors/executor.ts";
import { EXECUTORS, type ExecutorWishes, selectExecutor } from "../executors/select.ts";

/** An executor, or one of its kernels where it can run here. */
export interface ExecutorState extends Omit<KernelState, "name"> {
  readonly executor: Executor;
  /** Empty where the executor itself cannot run. */
  readonly kernel: string;
}

/** Every kernel of every executor, the default first. */
export async function allKernels(): Promise<ExecutorState[]> {
  const states: ExecutorState[] = [];
  for (const executor of EXECUTORS) {
    const missing = await executor.unavailable();
    if (missing !== undefined) states.push({ executor, kernel: "", unavailable: missing });
    else
      for (const { name, unavailable } of await executor.kernels())
        states.push({ executor, kernel: name, unavailable });
  }
  return states;
}

/** What loading would choose, found without loading anything. Throws as loading does. */
export async function wouldRun(wishes: ExecutorWishes): Promise<Omit<ExecutorInfo, "threads">> {
  const { executor, options, reason, rejected } = await selectExecutor(wishes);
  const choice = chooseKernel(executor.name, await executor.kernels(), options);
  return { name: executor.name, kernel: choice.kernel, reason, rejected: [...rejected, ...choice.rejected] };
}
