import type { ActivationMode, Plan } from "../plan/plan.ts";
import type { PackedLayout } from "../weights/packed-layout.ts";
import type { ExecutorInfo, Rejected } from "./executor.ts";

/** What runs here: an executor, its best kernel, and what the CPU or engine, or a wish, has ruled out. */
export type Running = Pick<ExecutorInfo, "name" | "kernel" | "rejected">;

/** Something that can multiply matrices, or some of them. */
export interface LinearKernel {
  readonly name: string;
  /** True, or the reason it cannot. */
  canImplement(matrix: PackedLayout, activations: ActivationMode, running: Running): true | string;
}

/** How weights and activations meet. All that a plan of an activation mode can hold is here: the last of them take any matrix. */
const ARITHMETICS: readonly LinearKernel[] = [
  {
    name: "float",
    canImplement: (matrix) => matrix.kind === "float" || "the weights are quantised",
  },
  // Dynamic 8-bit activations per token and 4-bit weights, by the rules under which vLLM takes zentorch's kernel. Its
  // inputs must be bfloat16 or float32: rows here are f32, and hold either.
  {
    name: "DA8W4",
    canImplement(matrix, activations) {
      if (activations !== "a8-per-token") return "activations are not quantised per token";
      if (matrix.kind === "float") return "the weights are floats";
      const { bits, codeBook, zero, offset, scale, groupSize, K } = matrix;
      if (bits !== 4 || codeBook) return `the weights have ${codeBook ? "a code book" : `${bits} bits`}`;
      if (zero !== 8 || offset) return "the weights are not symmetric";
      if (scale.startsWith("two-level")) return "scales have two levels";
      if (groupSize % 4 !== 0) return `a group of ${groupSize} is not a multiple of 4`;
      return K % 2 === 0 || "an odd number of inputs";
    },
  },
  quantizedPath("W4A8 per token", 4, "a8-per-token"),
  quantizedPath("W4A8", 4, "a8"),
  quantizedPath("W4A16", 4, "a16"),
  quantizedPath("A8 per token", undefined, "a8-per-token"),
  quantizedPath("A8", undefined, "a8"),
  quantizedPath("A16", undefined, "a16"),
];

function quantizedPath(name: string, bits: number | undefined, mode: ActivationMode): LinearKernel {
  return {
    name,
    canImplement(matrix, activations) {
      if (activations !== mode) return `activations are ${activations}`;
      if (matrix.kind === "float") return "the weights are floats";
      return bits === undefined || matrix.bits === bits || `the weights have ${matrix.bits} bits`;
    },
  };
}

/** Instruction sets, the fastest first. Each runs by itself or for the one whose stand-in it is; without one, it takes any matrix. */
const INSTRUCTION_SETS: readonly LinearKernel[] = [
  instructionSet("native", "amx-int8", {
    takes: (matrix) => matrix.kind !== "float" || "its tiles multiply bytes, not floats",
  }),
  instructionSet("native", "avx512-vnni", { standsInFor: "amx-int8" }),
  instructionSet("native", "avx-vnni"),
  instructionSet("native", "avx2"),
  instructionSet("native", "neon-i8mm"),
  instructionSet("native", "neon-dotprod"),
  instructionSet("native", "scalar"),
  instructionSet("wasm", "relaxed-simd", {
    takes(matrix, activations) {
      if (matrix.kind === "float") return "its dot product takes bytes, not floats";
      return activations !== "a16" || "its dot product takes activations of 8 bits, and these have 16";
    },
  }),
  instructionSet("wasm", "simd", { standsInFor: "relaxed-simd" }),
  instructionSet("reference", "typescript"),
];

interface Limits {
  readonly takes?: (matrix: PackedLayout, activations: ActivationMode) => true | string;
  readonly standsInFor?: string;
}

function instructionSet(
  executor: ExecutorInfo["name"],
  kernel: string,
  { takes = () => true, standsInFor }: Limits = {},
): LinearKernel {
  const name = `${executor} ${kernel}`;
  return {
    name,
    canImplement(matrix, activations, running) {
      const rejected = running.rejected.find((other) => other.kernel === name || other.kernel === executor);
      if (rejected) return rejected.reason;
      if (running.name !== executor) return `${running.name} was asked for`;
      if (running.kernel !== kernel && running.kernel !== standsInFor) return "this build does not have it";
      return takes(matrix, activations);
    },
  };
}

/** What multiplies a matrix, and why nothing faster does. */
export interface MatrixKernel {
  /** The matrix, as the plan names it. */
  readonly name: string;
  /** "native avx512-vnni"; undefined for a matrix of which only rows are looked up. */
  readonly instructions: string | undefined;
  /** "W4A8", "DA8W4", … */
  readonly arithmetic: string | undefined;
  readonly rejected: readonly Rejected[];
}

/** For each matrix of a plan, the first of `INSTRUCTION_SETS` and of `ARITHMETICS` that can multiply it. */
export function linearKernels(plan: Plan, running: Running): MatrixKernel[] {
  const multiplied = new Set(plan.ops.flatMap((op) => (op.op === "linear" ? op.parts.map((part) => part.matrix) : [])));
  return plan.matrices.map(({ name, layout }, i) => {
    if (!multiplied.has(i)) return { name, instructions: undefined, arithmetic: undefined, rejected: [] };
    const set = firstThatCan(INSTRUCTION_SETS.slice(firstOf(running)), layout, plan.activations, running);
    const way = firstThatCan(ARITHMETICS, layout, plan.activations, running);
    // What another activation mode would do is no news.
    const refused = way.rejected.filter(({ kernel }) => kernel === "DA8W4" && plan.activations === "a8-per-token");
    return { name, instructions: set.name, arithmetic: way.name, rejected: [...set.rejected, ...refused] };
  });
}

/** Kernels of executors before the one that runs are told of once, by the executor's own reason. */
function firstOf({ name }: Running): number {
  return INSTRUCTION_SETS.findIndex((set) => set.name.startsWith(`${name} `));
}

function firstThatCan(
  kernels: readonly LinearKernel[],
  matrix: PackedLayout,
  activations: ActivationMode,
  running: Running,
): { name: string; rejected: Rejected[] } {
  const rejected: Rejected[] = [];
  for (const kernel of kernels) {
    const answer = kernel.canImplement(matrix, activations, running);
    if (answer === true) return { name: kernel.name, rejected };
    rejected.push({ kernel: kernel.name, reason: answer });
  }
  throw new Error("the last kernel of every executor takes any matrix");
}
