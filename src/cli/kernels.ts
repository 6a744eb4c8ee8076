import { HalfbyteError } from "../errors.ts";
import type { Executor, Rejected } from "../executors/executor.ts";
import { EXECUTORS, type ExecutorWishes, selectExecutor } from "../executors/select.ts";
import { hasSimd, noRelaxedSimd } from "../executors/wasm/features.ts";

/** An instruction set of an executor. */
export interface KernelState {
  readonly executor: Executor;
  readonly kernel: string;
  /** Why it cannot run here; absent where it can. */
  readonly unavailable?: string;
}

export interface KernelChoice {
  readonly executor: string;
  readonly kernel: string;
  readonly reason: string;
  readonly rejected: readonly Rejected[];
}

/** Every kernel of every executor, the default first. */
export async function allKernels(): Promise<KernelState[]> {
  const states: KernelState[] = [];
  for (const executor of EXECUTORS) {
    const reason = await executor.unavailable();
    for (const { kernel, unavailable = reason } of await kernelsOf(executor))
      states.push({ executor, kernel, ...(unavailable !== undefined && { unavailable }) });
  }
  return states;
}

/**
 * The kernel that multiplies matrices of any layout here, found without loading anything. Throws ERR_EXECUTOR where the
 * executor or kernel that was asked for cannot run here, as loading does.
 */
export async function chooseKernel(wishes: ExecutorWishes): Promise<KernelChoice> {
  const { executor, options, reason, rejected } = await selectExecutor(wishes);
  const notTaken: Rejected[] = [...rejected];
  for (const { kernel, unavailable } of await kernelsOf(executor)) {
    const asked = options.kernel === undefined || options.kernel === kernel;
    if (asked && unavailable === undefined) return { executor: executor.name, kernel, reason, rejected: notTaken };
    notTaken.push({ kernel: `${executor.name} ${kernel}`, reason: unavailable ?? `${options.kernel} was asked for` });
  }
  throw new HalfbyteError("ERR_EXECUTOR", "cannot run here", {
    place: [executor.name, options.kernel].filter(Boolean).join(" "),
    got: notTaken.map(({ kernel, reason }) => `${kernel} (${reason})`).join(", "),
  });
}

async function kernelsOf(executor: Executor): Promise<{ kernel: string; unavailable?: string }[]> {
  if (executor.name === "reference") return [{ kernel: "typescript" }];
  if (executor.name === "native") {
    if ((await executor.unavailable()) !== undefined) return [{ kernel: "" }];
    const { nativeKernels } = await import("../executors/native/native-executor.ts");
    return nativeKernels().map(({ name, reason }) => ({
      kernel: name,
      ...(reason !== undefined && { unavailable: reason }),
    }));
  }
  const relaxed = noRelaxedSimd();
  return [
    { kernel: "relaxed-simd", ...(relaxed && { unavailable: relaxed.reason }) },
    { kernel: "simd", ...(!hasSimd() && { unavailable: "this engine's WebAssembly has no SIMD" }) },
  ];
}
