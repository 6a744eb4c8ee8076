import { HalfbyteError } from "../errors.ts";
import type { KernelState, LoadOptions, Rejected } from "./executor.ts";

export interface KernelChoice {
  readonly kernel: string;
  /** Better ones, each with why it was not taken. */
  readonly rejected: readonly Rejected[];
}

/** The best kernel of an executor that can run here and is wanted. Throws ERR_EXECUTOR with the reason where none is. */
export function chooseKernel(
  executor: string,
  kernels: readonly KernelState[],
  { kernel: wanted, disabled = [] }: Pick<LoadOptions, "kernel" | "disabled">,
): KernelChoice {
  const rejected: Rejected[] = [];
  for (const { name, unavailable } of kernels) {
    const unwanted = wanted !== undefined && wanted !== name ? `${wanted} was asked for` : undefined;
    const reason = unavailable ?? unwanted ?? (disabled.includes(name) ? "it is disabled" : undefined);
    if (reason === undefined) return { kernel: name, rejected };
    rejected.push({ kernel: `${executor} ${name}`, reason });
  }
  const runnable = kernels.filter(({ unavailable }) => unavailable === undefined).map(({ name }) => name);
  const asked = rejected.find(({ kernel }) => kernel === `${executor} ${wanted}`);
  throw new HalfbyteError("ERR_EXECUTOR", `kernel ${wanted ?? "of any kind"} cannot run here`, {
    place: `${executor} executor`,
    expected: `one of ${runnable.join(", ") || "none"}`,
    got: wanted === undefined ? rejected.map(({ reason }) => reason).join("; ") : (asked?.reason ?? "no such kernel"),
  });
}
