import type { Plan, PlanMatrix } from "../plan/plan.ts";
import type { ExecutorInfo, Rejected } from "./executor.ts";

/** What multiplies a matrix, and why nothing faster does. */
export interface MatrixKernel {
  /** The matrix, as the plan names it. */
  readonly name: string;
  readonly use: string;
  readonly rejected: readonly Rejected[];
}

/** For each matrix of a plan, the instructions that an executor's kernel uses for it. */
export function chooseKernels(
  plan: Plan,
  executor: Pick<ExecutorInfo, "name" | "kernel" | "rejected">,
): MatrixKernel[] {
  const multiplied = new Set(plan.ops.flatMap((op) => (op.op === "linear" ? op.parts.map((part) => part.matrix) : [])));
  return plan.matrices.map((matrix, i) => {
    const { name } = matrix;
    if (!multiplied.has(i)) return { name, use: "row look-up", rejected: [] };
    const reason = executor.name === "wasm" && executor.kernel === "relaxed-simd" && noRelaxedProduct(matrix, plan);
    if (reason) return { name, use: "simd", rejected: [{ kernel: "relaxed-simd", reason }] };
    return { name, use: executor.kernel, rejected: executor.rejected.filter(({ kernel }) => kernel !== "threads") };
  });
}

/** Why the relaxed dot product, of signed bytes by unsigned 7-bit codes, does not serve a matrix. */
function noRelaxedProduct({ layout }: PlanMatrix, { activations }: Plan): string | undefined {
  if (layout.kind === "float") return "float weights are multiplied as floats";
  if (activations === "a16") return "its dot product takes activations of 8 bits, and these have 16";
  return undefined;
}
