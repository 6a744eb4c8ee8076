import { HalfbyteError } from "../../errors.ts";
import type { Samples } from "./layer-runs.ts";

export interface SampleOptions {
  /** At most so many; default 128. */
  readonly count?: number | undefined;
  /** Tokens of each; default 512. */
  readonly length?: number | undefined;
}

/** Shorter texts say nothing of a model's inputs. */
const LEAST_TOKENS = 256;
/** Attention over more is not what quantisation is after. */
const MOST_LENGTH = 4096;

/**
 * Cuts a text into samples, spread evenly over it where it has more than are asked for. A rest that fills no sample is left
 * out; a text shorter than one sample is one. Throws ERR_ARGUMENT for a text of too few tokens.
 */
export function takeSamples(ids: ArrayLike<number>, { count = 128, length = 512 }: SampleOptions = {}): Samples {
  if (!Number.isSafeInteger(count) || count < 1) throw unusable("calibration samples", "1 or more", count);
  if (!Number.isSafeInteger(length) || length < 16 || length > MOST_LENGTH)
    throw unusable("tokens of a calibration sample", `16 to ${MOST_LENGTH}`, length);
  if (ids.length < LEAST_TOKENS) throw unusable("calibration text", `${LEAST_TOKENS} tokens or more`, ids.length);
  const each = Math.min(length, ids.length);
  const there = Math.floor(ids.length / each);
  const taken = Math.min(count, there);
  const all = new Int32Array(taken * each);
  for (let s = 0; s < taken; s++) {
    const start = Math.floor((s * there) / taken) * each;
    for (let i = 0; i < each; i++) all[s * each + i] = ids[start + i]!;
  }
  return { ids: all, length: each };
}

function unusable(place: string, expected: string, got: number): HalfbyteError {
  return new HalfbyteError("ERR_ARGUMENT", "unusable", { place, expected, got: String(got) });
}
