import { HalfbyteError } from "../../errors.ts";

/** Tokens to a block: four words of a mask, and few enough blocks (2048 for 262,144 tokens) to sort their maxima. */
export const BLOCK_SIZE = 128;

/**
 * The first pass over the logits: the highest of all and the highest of each block of 128, by which later passes skip
 * most of the vocabulary. The buffer is kept from step to step.
 */
export class LogitScan {
  /** Id of the highest logit, the lowest of equals. */
  best = 0;
  /** Highest logit of each block; −Infinity for a block in which nothing is allowed. */
  blockMaxima: Float32Array = new Float32Array(0);
  #distances = new Float32Array(0);

  /** Throws ERR_NON_FINITE for a logit that is NaN or infinite. */
  all(logits: Float32Array): void {
    this.#reserve(logits.length);
    const bits = new Int32Array(logits.buffer, logits.byteOffset, logits.length);
    let exponents = 0;
    for (let start = 0, block = 0; start < logits.length; start += BLOCK_SIZE, block++) {
      const end = Math.min(start + BLOCK_SIZE, logits.length);
      let highest = logits[start]!;
      for (let id = start; id < end; id++) {
        // The carry out of an exponent of all ones, NaN or infinite, sets the sign bit.
        exponents |= (bits[id]! & 0x7fffffff) + 0x00800000;
        if (logits[id]! > highest) highest = logits[id]!;
      }
      this.blockMaxima[block] = highest;
    }
    if (exponents < 0) throw nonFinite(logits);
    const block = this.#highestBlock();
    this.best = block * BLOCK_SIZE;
    while (logits[this.best] !== this.blockMaxima[block]) this.best++;
  }

  /** Looks only at tokens whose bit is set in `allowed`; throws ERR_ARGUMENT if there are none. */
  allowed(logits: Float32Array, allowed: Uint32Array): void {
    this.#reserve(logits.length);
    this.blockMaxima.fill(-Infinity);
    let best: number | undefined;
    for (let word = 0; word * 32 < logits.length; word++) {
      let bits = allowed[word]! | 0;
      while (bits !== 0) {
        const id = word * 32 + 31 - Math.clz32(bits & -bits);
        bits &= bits - 1;
        if (id >= logits.length) break;
        const block = Math.floor(id / BLOCK_SIZE);
        if (logits[id]! > this.blockMaxima[block]!) this.blockMaxima[block] = logits[id]!;
        if (best === undefined || logits[id]! > logits[best]!) best = id;
      }
    }
    if (best === undefined) {
      throw new HalfbyteError("ERR_ARGUMENT", "the mask allows no token", {
        place: "allowed",
        expected: "at least one set bit within the vocabulary",
        got: "none",
      });
    }
    this.best = best;
  }

  /**
   * A distance below the highest logit within which at least `count` tokens stand, since that many blocks have their
   * maximum there; Infinity where there are not enough blocks to tell.
   */
  distanceHolding(count: number): number {
    const blocks = this.blockMaxima.length;
    if (count > blocks) return Infinity;
    const highest = this.blockMaxima[this.#highestBlock()]!;
    for (let block = 0; block < blocks; block++) this.#distances[block] = highest - this.blockMaxima[block]!;
    return this.#distances.sort()[count - 1]!;
  }

  #highestBlock(): number {
    let best = 0;
    for (let block = 1; block < this.blockMaxima.length; block++) {
      if (this.blockMaxima[block]! > this.blockMaxima[best]!) best = block;
    }
    return best;
  }

  #reserve(size: number): void {
    const blocks = Math.ceil(size / BLOCK_SIZE);
    if (this.blockMaxima.length === blocks) return;
    this.blockMaxima = new Float32Array(blocks);
    this.#distances = new Float32Array(blocks);
  }
}

function nonFinite(logits: Float32Array): HalfbyteError {
  const id = logits.findIndex((logit) => !Number.isFinite(logit));
  return new HalfbyteError("ERR_NON_FINITE", "the model gave a logit that cannot be sampled from", {
    place: `logits[${id}]`,
    expected: "a finite number",
    got: String(logits[id]),
  });
}
