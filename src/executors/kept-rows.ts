import { HalfbyteError } from "../errors.ts";
import type { RowSpace } from "../plan/graph.ts";
import type { KeptRows, Plan } from "../plan/plan.ts";
import type { StepBatch } from "./executor.ts";

/** Rows of each kind that a step has. */
export type RowCounts = Readonly<Record<RowSpace, number>>;

export function rowCounts({ tokenIds, logitRows, logits = true }: StepBatch): RowCounts {
  return { tokens: tokenIds.length, selected: logitRows.length, logits: logits ? logitRows.length : 0 };
}

/** Rows of values that a plan keeps, as the last step left them. */
export class KeptValues {
  readonly #byName: ReadonlyMap<string, KeptRows>;
  /** Undefined before the first step, and while one runs. */
  #counts: RowCounts | undefined;

  constructor(plan: Plan) {
    this.#byName = new Map(plan.kept.map((kept) => [kept.name, kept]));
  }

  began(): void {
    this.#counts = undefined;
  }

  ended(counts: RowCounts): void {
    this.#counts = counts;
  }

  /** What to read: `rowAt` gives the f32 numbers of the row at a byte offset of the arena. Throws ERR_ARGUMENT. */
  read(name: string, rowAt: (offset: number, width: number) => Float32Array): Float32Array {
    const kept = this.#byName.get(name);
    if (!kept)
      throw new HalfbyteError("ERR_ARGUMENT", "this value is not kept", {
        place: name,
        expected: [...this.#byName.keys()].join(", ") || "a plan that keeps values",
        remedy: "name it in the `keep` option when the plan is compiled",
      });
    if (!this.#counts) throw new HalfbyteError("ERR_ARGUMENT", "no step has left a value to read", { place: name });
    const { offset, stride, width } = kept.buffer;
    const rows = this.#counts[kept.rows];
    const out = new Float32Array(rows * width);
    for (let m = 0; m < rows; m++) out.set(rowAt(offset + m * stride, width), m * width);
    return out;
  }
}
