import type { ExecutorInfo, PlanRunner, StepBatch } from "../../src/executors/executor.ts";
import { referenceExecutor } from "../../src/executors/reference/reference.ts";
import { hasRelaxedSimd } from "../../src/executors/wasm/features.ts";
import { wasmExecutorWith } from "../../src/executors/wasm/wasm.ts";
import type { Plan } from "../../src/plan/plan.ts";
import { Random, type RandomModel } from "../random-plan.ts";

/** An executor made to run in one way. */
export interface Variant {
  readonly title: string;
  readonly expected: Pick<ExecutorInfo, "name" | "kernel" | "threads">;
  /** Undefined where it can run here, else why it cannot. */
  readonly skipped: string | undefined;
  load(model: Pick<RandomModel, "plan" | "weights">): Promise<PlanRunner>;
}

function wasmVariant(kernel: string, threads: number, inline = false): Variant {
  return {
    title: `wasm ${kernel}, ${inline ? "inline" : `${threads} thread${threads > 1 ? "s" : ""}`}`,
    expected: { name: "wasm", kernel, threads },
    skipped: kernel === "relaxed-simd" && !hasRelaxedSimd() ? "this engine has no relaxed SIMD" : undefined,
    load: ({ plan, weights }) => wasmExecutorWith({ inline }).load(plan, weights, { kernel, threads }),
  };
}

export const VARIANTS: readonly Variant[] = ["simd", "relaxed-simd"].flatMap((kernel) => [
  ...[1, 2, 3].map((threads) => wasmVariant(kernel, threads)),
  wasmVariant(kernel, 1, true),
]);

/** Cache blocks of the script below. */
export const SCRIPT_BLOCKS = 16;
export const SCRIPT_ROWS = 50;

/**
 * Steps that show whatever an executor can get wrong: M of 1, 2, 7, 16, 33 and 48; sequences alone and together, in
 * scattered blocks; blocks handed from one sequence to the next with what lay in them; no, some and all logits.
 */
export function script(plan: Plan, seed: number): StepBatch[] {
  const random = new Random(seed);
  const vocabulary = plan.matrices[0]!.layout.N;
  const a = Int32Array.from([5, 2, 0, 13]);
  const b = Int32Array.from([1, 4, 9, 7]);
  const c = Int32Array.from([15, 3, 6, 8]);
  const step = (parts: [Int32Array, number, number][], logitRows: number[]): StepBatch => ({
    tokenIds: Int32Array.from({ length: parts.reduce((sum, [, , rows]) => sum + rows, 0) }, () =>
      random.below(vocabulary),
    ),
    segments: parts.map(([blocks, position, rows]) => ({ blocks, position, rows })),
    logitRows: Int32Array.from(logitRows),
  });
  return [
    step([[a, 0, 7]], [6]),
    step([[a, 7, 1]], [0]),
    step([[b, 0, 33]], []),
    step(
      [
        [a, 8, 16],
        [b, 33, 1],
        [c, 0, 31],
      ],
      [15, 16, 47],
    ),
    step(
      [
        [a, 24, 1],
        [c, 31, 1],
      ],
      [0, 1],
    ),
    step([[b, 34, 16]], [0, 7, 15]),
    // A new sequence in blocks that have been used.
    step([[Int32Array.from([2, 5]), 0, 2]], [0, 1]),
    step([[c, 32, 30]], [29]),
  ];
}

/** The bits of the logits of all steps. */
export async function runScript(runner: PlanRunner, steps: readonly StepBatch[]): Promise<Int32Array[]> {
  runner.ensureBlocks(4);
  runner.ensureBlocks(SCRIPT_BLOCKS);
  const bits: Int32Array[] = [];
  for (const step of steps) bits.push(new Int32Array((await runner.step(step)).slice().buffer));
  return bits;
}

export async function referenceBits(
  { plan, weights }: RandomModel,
  steps: readonly StepBatch[],
): Promise<Int32Array[]> {
  return runScript(await referenceExecutor.load(plan, weights), steps);
}

/** Where bits differ first, in few words: whole logits in a message help nobody. */
export function firstDifference(got: readonly Int32Array[], wanted: readonly Int32Array[]): string | undefined {
  for (const [step, bits] of wanted.entries()) {
    const other = got[step] ?? new Int32Array(0);
    if (other.length !== bits.length) return `step ${step}: ${other.length} logits, not ${bits.length}`;
    const at = bits.findIndex((word, i) => word !== other[i]);
    const count = bits.filter((word, i) => word !== other[i]).length;
    if (at >= 0)
      return `step ${step}: logit ${at} of ${bits.length} is ${float(other[at]!)}, not ${float(bits[at]!)}; ${count} differ`;
  }
  return undefined;
}

function float(bits: number): number {
  return new Float32Array(Int32Array.of(bits).buffer)[0]!;
}
