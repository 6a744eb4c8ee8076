import { exp64 } from "../../arithmetic/functions64.ts";
import { BLOCK_SIZE, type LogitScan } from "./logit-scan.ts";

// An index and the 31 bits of a non-negative f32 fit the 53 bits of a number, so that sorting needs no comparator.
const INDEX_SPAN = 2 ** 22;
/** The largest vocabulary that a set of candidates can hold. */
export const MAX_VOCABULARY: number = INDEX_SPAN;

// The exponent and 6 bits of the fraction: a bucket is 1/64 of a binade, and all buckets together fit a 256 KB cache.
const BUCKET_SHIFT = 17;
const BUCKET_COUNT = 2 ** (31 - BUCKET_SHIFT);

/**
 * The tokens still in play, ids ascending, each with its distance below the highest logit (f32, rounded once) and, after
 * `weigh`, its weight e^(−distance / temperature). Filters drop tokens and keep the order; at least one always stays.
 * Buffers are kept from step to step.
 */
export class Candidates {
  count = 0;
  ids: Int32Array = new Int32Array(0);
  distances: Float32Array = new Float32Array(0);
  weights: Float32Array = new Float32Array(0);
  /** Bits of the value that orders the tokens; as the values are not negative, bits sort as they do. */
  #distanceBits: Uint32Array = new Uint32Array(0);
  #deviations = new Float32Array(0);
  #boundary = new Float64Array(0);
  readonly #buckets = new Float64Array(BUCKET_COUNT);

  /**
   * Takes the tokens not more than `farthest` below the highest logit; with a mask, only those whose bit is set in
   * `allowed`. `scan` must come from the same logits and mask.
   */
  fill(logits: Float32Array, scan: LogitScan, farthest: number, allowed: Uint32Array | undefined): void {
    this.#reserve(logits.length);
    const { ids, distances } = this;
    const { blockMaxima } = scan;
    const highest = logits[scan.best]!;
    let count = 0;
    for (let start = 0, block = 0; start < logits.length; start += BLOCK_SIZE, block++) {
      if (Math.fround(highest - blockMaxima[block]!) > farthest) continue;
      const end = Math.min(start + BLOCK_SIZE, logits.length);
      for (let id = start; id < end; id++) {
        if (allowed && ((allowed[id >>> 5]! >>> (id & 31)) & 1) === 0) continue;
        const distance = Math.fround(highest - logits[id]!);
        if (distance > farthest) continue;
        ids[count] = id;
        distances[count++] = distance;
      }
    }
    this.count = count;
  }

  #reserve(size: number): void {
    if (this.ids.length >= size) return;
    this.ids = new Int32Array(size);
    this.distances = new Float32Array(size);
    this.weights = new Float32Array(size);
    this.#distanceBits = new Uint32Array(this.distances.buffer);
  }

  /** Sets the weights; tokens whose weight is 0 in f32 leave. */
  weigh(temperature: number): void {
    const { ids, distances, weights } = this;
    let kept = 0;
    for (let i = 0; i < this.count; i++) {
      const weight = Math.fround(exp64(-distances[i]! / temperature));
      if (weight === 0) continue;
      ids[kept] = ids[i]!;
      distances[kept] = distances[i]!;
      weights[kept++] = weight;
    }
    this.count = kept;
  }

  /** The sum of the weights, ids ascending, in f64. */
  totalWeight(): number {
    let total = 0;
    for (let i = 0; i < this.count; i++) total += this.weights[i]!;
    return total;
  }

  /** Keeps the `k` most likely; of equals, the lower ids. */
  keepTopK(k: number): void {
    if (k < this.count) this.#keepFirst(this.#distanceBits, undefined, k);
  }

  /** Keeps the shortest run of most likely tokens that has `topP` of the weight. */
  keepTopP(topP: number): void {
    this.#keepFirst(this.#distanceBits, this.weights, topP * this.totalWeight());
  }

  /**
   * Keeps the shortest run of tokens that has `typicalP` of the weight, those first whose surprise −ln p is nearest to
   * the entropy. As −ln p is distance / temperature plus a constant, that is nearness of distance to mean distance.
   * Source: Meister and others, "Locally typical sampling", 2022.
   */
  keepTypical(typicalP: number): void {
    const { distances, weights } = this;
    let sum = 0;
    for (let i = 0; i < this.count; i++) sum += weights[i]! * distances[i]!;
    const total = this.totalWeight();
    const mean = sum / total;
    if (this.#deviations.length < this.count) this.#deviations = new Float32Array(this.ids.length);
    for (let i = 0; i < this.count; i++) this.#deviations[i] = Math.abs(distances[i]! - mean);
    this.#keepFirst(new Uint32Array(this.#deviations.buffer), weights, typicalP * total);
  }

  /** Keeps tokens of at least `minP` times the highest weight. */
  keepMinP(minP: number): void {
    const { ids, distances, weights } = this;
    let highest = 0;
    for (let i = 0; i < this.count; i++) if (weights[i]! > highest) highest = weights[i]!;
    const threshold = minP * highest;
    let kept = 0;
    for (let i = 0; i < this.count; i++) {
      if (weights[i]! < threshold) continue;
      ids[kept] = ids[i]!;
      distances[kept] = distances[i]!;
      weights[kept++] = weights[i]!;
    }
    this.count = kept;
  }

  /** The token at fraction `uniform`, in [0, 1), of the weights laid end to end. */
  pick(uniform: number): number {
    const target = uniform * this.totalWeight();
    let sum = 0;
    for (let i = 0; i < this.count; i++) {
      sum += this.weights[i]!;
      if (sum > target) return this.ids[i]!;
    }
    return this.ids[this.count - 1]!;
  }

  /**
   * Keeps the shortest prefix, in order of (key, id), whose sum reaches `target`, and at least one token; each counts
   * its weight, or 1 without weights. Sorts only the bucket of keys in which the prefix ends.
   */
  #keepFirst(keys: Uint32Array, weights: Float32Array | undefined, target: number): void {
    const buckets = this.#buckets.fill(0);
    const count = this.count;
    if (weights) for (let i = 0; i < count; i++) buckets[keys[i]! >>> BUCKET_SHIFT]! += weights[i]!;
    else for (let i = 0; i < count; i++) buckets[keys[i]! >>> BUCKET_SHIFT]! += 1;
    let sum = 0;
    let last = 0;
    // An empty bucket never ends the prefix, or a target of 0 would keep nothing.
    while (last < BUCKET_COUNT && (buckets[last] === 0 || sum + buckets[last]! < target)) sum += buckets[last++]!;
    if (last === BUCKET_COUNT) return;

    const firstKey = last << BUCKET_SHIFT;
    const endKey = (last + 1) << BUCKET_SHIFT;
    let size = 0;
    for (let i = 0; i < count; i++) if (keys[i]! >>> BUCKET_SHIFT === last) size++;
    if (this.#boundary.length < size) this.#boundary = new Float64Array(Math.max(size, 1024));
    const boundary = this.#boundary.subarray(0, size);
    let sorted = true;
    for (let i = 0, at = 0; at < size; i++) {
      if (keys[i]! >>> BUCKET_SHIFT !== last) continue;
      boundary[at] = keys[i]! * INDEX_SPAN + i;
      if (at > 0 && boundary[at]! < boundary[at - 1]!) sorted = false;
      at++;
    }
    if (!sorted) boundary.sort();
    let end = 0;
    do {
      const index = boundary[end]! - Math.floor(boundary[end]! / INDEX_SPAN) * INDEX_SPAN;
      sum += weights ? weights[index]! : 1;
      end++;
    } while (sum < target && end < size);
    const limit = boundary[end - 1]!;

    const { ids, distances, weights: ownWeights } = this;
    let kept = 0;
    for (let i = 0; i < count; i++) {
      const key = keys[i]!;
      if (key >= endKey || (key >= firstKey && key * INDEX_SPAN + i > limit)) continue;
      ids[kept] = ids[i]!;
      distances[kept] = distances[i]!;
      ownWeights[kept++] = ownWeights[i]!;
    }
    this.count = kept;
  }
}
