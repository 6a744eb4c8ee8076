import { HalfbyteError } from "../../errors.ts";
import type { MatrixForm } from "./form.ts";
import type { GptqVersion } from "./gptq.ts";
import { type Tensor, wordsOf } from "./tensors.ts";
import { codesFromWords } from "./words.ts";

/** What one matrix tells of how its zeros are stored. */
export interface ZeroEvidence {
  readonly bits: 4 | 8;
  /** The stored zero where all are the same. */
  readonly constant: number | undefined;
  /** Codes less stored zeros, over a sample of the matrix. */
  readonly difference: number;
  readonly count: number;
}

/**
 * Looks at all zeros of a matrix, and at the codes of its first inputs: `sample` are rows of `qweight`. `groupOfInput`
 * where inputs are not grouped in the order they come in.
 */
export function zeroEvidence(
  qzeros: Tensor,
  sample: Tensor,
  { N, bits, groupSize }: MatrixForm,
  groupOfInput?: Int32Array,
): ZeroEvidence {
  const groups = qzeros.shape[0]!;
  const stored = codesFromWords(wordsOf(qzeros), groups, N, bits);
  const zeroSums = Array.from({ length: groups }, (_, g) => sum(stored.subarray(g * N, (g + 1) * N)));
  const words = wordsOf(sample);
  const perWord = 32 / bits;
  let difference = 0;
  for (let r = 0; r < sample.shape[0]!; r++) {
    const row = words.subarray(r * N, (r + 1) * N);
    for (let i = 0; i < perWord; i++) {
      const k = r * perWord + i;
      const g = groupOfInput ? groupOfInput[k]! : Math.floor(k / groupSize);
      let codes = 0;
      for (const word of row) codes += (word >>> (bits * i)) & (2 ** bits - 1);
      difference += codes - zeroSums[g]!;
    }
  }
  const [constant] = stored;
  return {
    bits,
    constant: stored.every((zero) => zero === constant) ? constant : undefined,
    difference,
    count: words.length * perWord,
  };
}

/** Weights are centred on 0 within this part of a step, or their mean tells nothing: readings are a whole step apart. */
const CENTRED = 0.25;

export interface VersionChoice {
  readonly version: GptqVersion;
  /** Where the values speak against what is declared. */
  readonly note?: string;
}

/**
 * Which version of the format a checkpoint has. Zeros that are all alike tell it exactly: symmetric ones are half the
 * range in one reading and not in the other. Others tell it where the mean weight is near 0 in one reading alone.
 *
 * Throws ERR_FORMAT, with what was found, where nothing is declared and the values fit both, where matrices contradict
 * each other, or where only the mean speaks against what is declared.
 */
export function gptqVersion(
  evidence: readonly ZeroEvidence[],
  declared: GptqVersion | undefined,
  place: string,
): VersionChoice {
  const refuse = (problem: string, got: string): never => {
    throw new HalfbyteError("ERR_FORMAT", problem, {
      place,
      expected: "GPTQ zeros of one version, stored less one (v1) or as they are (v2)",
      got,
      remedy: 'say which in config.json: quantization_config, "checkpoint_format": "gptq" or "gptq_v2"',
    });
  };
  const exact = new Set(evidence.map(symmetricVersion).filter((version) => version !== undefined));
  if (exact.size === 2) return refuse("matrices contradict each other", "symmetric zeros stored in both ways");
  const [fromZeros] = exact;
  const varied = evidence.filter(({ constant }) => constant === undefined);
  const count = varied.reduce((total, each) => total + each.count, 0);
  const mean = varied.reduce((total, each) => total + each.difference, 0) / count;
  const fromMean =
    count === 0 ? undefined : Math.abs(mean) < CENTRED ? "v2" : Math.abs(mean - 1) < CENTRED ? "v1" : undefined;
  const found = `weights whose mean is ${mean.toFixed(2)} steps as v2, ${(mean - 1).toFixed(2)} as v1`;
  if (fromZeros && fromMean && fromZeros !== fromMean)
    return refuse("matrices contradict each other", `symmetric zeros as in ${fromZeros}, and ${found}`);
  if (fromZeros && declared && fromZeros !== declared)
    return { version: fromZeros, note: `zeros are stored as in GPTQ ${fromZeros}, not ${declared} as declared` };
  if (declared && !fromZeros && fromMean && fromMean !== declared)
    return refuse(`the values speak against ${declared}, which is declared`, found);
  const version = declared ?? fromZeros ?? fromMean;
  return version ? { version } : refuse("the version of the format cannot be told", count > 0 ? found : "no zeros");
}

function symmetricVersion({ bits, constant }: ZeroEvidence): GptqVersion | undefined {
  const middle = 2 ** (bits - 1);
  return constant === middle - 1 ? "v1" : constant === middle ? "v2" : undefined;
}

/** The zero point of all groups, where it is known to be one. */
export function constantZero({ bits, constant }: ZeroEvidence, version: GptqVersion): number | undefined {
  if (constant === undefined || version === "v2") return constant;
  // One more would carry into the next code of the word.
  return constant === 2 ** bits - 1 ? undefined : constant + 1;
}

function sum(values: Uint8Array): number {
  return values.reduce((total, value) => total + value, 0);
}
