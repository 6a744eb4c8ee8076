import { log64 } from "../../arithmetic/functions64.ts";
import { HalfbyteError } from "../../errors.ts";
import { Candidates, MAX_VOCABULARY } from "./candidates.ts";
import { Generator, type GeneratorState } from "./generator.ts";
import { logSumExp, type TokenLogProbability, topLogProbabilities } from "./log-probabilities.ts";
import { LogitScan } from "./logit-scan.ts";
import { type CheckedSamplingOptions, checkSamplingOptions, type SamplingOptions } from "./options.ts";
import { LogitAdjuster, type TokenHistory } from "./penalties.ts";

export interface SampledToken {
  readonly id: number;
  /** Of the model's own distribution, before bias, penalties, mask, temperature and filters; with option `logprobs`. */
  readonly logprob?: number;
  /** The most likely tokens of that same distribution; with option `logprobs`. */
  readonly top?: readonly TokenLogProbability[];
}

/** All that a sampler carries from one token to the next. */
export interface SamplerState {
  readonly seed: number;
  readonly generator: GeneratorState;
}

const NO_HISTORY: TokenHistory = { tokens: [], promptLength: 0 };

/**
 * Chooses tokens from logits; the same options, seed, logits and history give the same tokens on every engine.
 * The order of the steps and their sources: docs/sampling.md.
 */
export class Sampler {
  readonly options: CheckedSamplingOptions;
  readonly #generator: Generator;
  readonly #adjuster: LogitAdjuster;
  readonly #scan = new LogitScan();
  readonly #candidates = new Candidates();
  #seed: number;

  /** Throws ERR_ARGUMENT for an option out of its range. */
  constructor(options: SamplingOptions = {}) {
    this.options = checkSamplingOptions(options);
    this.#seed = this.options.seed;
    this.#generator = new Generator(this.#seed);
    this.#adjuster = new LogitAdjuster(this.options);
  }

  /** The seed given, or the random one drawn in its place; report it, so that a run can be repeated. */
  get seed(): number {
    return this.#seed;
  }

  /** The generator's place in its stream, fit for JSON. */
  saveState(): SamplerState {
    return { seed: this.#seed, generator: this.#generator.state };
  }

  /** Goes on from a saved place; throws ERR_ARGUMENT for a state that `saveState` cannot have given. */
  restoreState(state: SamplerState): void {
    const { seed } = checkSamplingOptions({ seed: state?.seed ?? Number.NaN });
    this.#generator.state = state.generator;
    this.#seed = seed;
  }

  /**
   * Chooses the next token from `logits`, f32 [vocabulary], which stay as they are.
   * Only tokens whose bit is set in `allowed` (bit `id % 32` of word `id / 32`) can be chosen.
   * A temperature of 0 takes the highest logit, the lowest id of equals, and draws no random number; else one is drawn.
   * Throws ERR_NON_FINITE for a logit that is NaN or infinite; ERR_ARGUMENT for ids outside the vocabulary, for a mask
   * that allows nothing or is too short; ERR_LIMIT for a vocabulary above 2^22.
   */
  sample(logits: Float32Array, history: TokenHistory = NO_HISTORY, allowed?: Uint32Array): SampledToken {
    checkVocabulary(logits, allowed);
    const scan = this.#scan;
    scan.all(logits);
    const mostLikely = scan.best;
    const adjusted = this.#adjuster.apply(logits, history);
    if (allowed) scan.allowed(adjusted, allowed);
    else if (adjusted !== logits) scan.all(adjusted);
    const id = this.options.temperature === 0 ? scan.best : this.#draw(adjusted, allowed);
    if (this.options.logprobs === undefined) return { id };
    const normaliser = logSumExp(logits, logits[mostLikely]!);
    const top = topLogProbabilities(logits, normaliser, this.options.logprobs);
    return { id, logprob: logits[id]! - normaliser, top };
  }

  #draw(logits: Float32Array, allowed: Uint32Array | undefined): number {
    const { temperature, topK, typicalP, topP, minP } = this.options;
    const candidates = this.#candidates;
    candidates.fill(logits, this.#scan, this.#farthest(), allowed);
    if (topK > 0) candidates.keepTopK(topK);
    candidates.weigh(temperature);
    if (typicalP < 1) candidates.keepTypical(typicalP);
    if (topP < 1) candidates.keepTopP(topP);
    if (minP > 0) candidates.keepMinP(minP);
    return candidates.pick(this.#generator.nextUniform());
  }

  /** How far below the highest logit a token can be and still pass top-k and min-p; it saves looking at the rest. */
  #farthest(): number {
    const { temperature, topK, typicalP, topP, minP } = this.options;
    const holdingTopK = topK > 0 ? this.#scan.distanceHolding(topK) : Infinity;
    // Typical and top-p need the mass of the tokens that min-p drops afterwards. Weights are rounded to f32, by less
    // than 1e-6 while they are normal numbers.
    const reachesMinP = typicalP === 1 && topP === 1 && minP > 1e-30;
    return reachesMinP ? Math.min(holdingTopK, temperature * (1e-6 - log64(minP))) : holdingTopK;
  }
}

function checkVocabulary(logits: Float32Array, allowed: Uint32Array | undefined): void {
  const size = logits.length;
  if (size === 0 || size > MAX_VOCABULARY) {
    throw new HalfbyteError("ERR_LIMIT", "vocabulary out of range", {
      place: "logits",
      expected: `1 to ${MAX_VOCABULARY} logits`,
      got: String(size),
    });
  }
  const words = Math.ceil(size / 32);
  if (allowed && allowed.length < words) {
    throw new HalfbyteError("ERR_ARGUMENT", "the mask is shorter than the vocabulary", {
      place: "allowed",
      expected: `${words} words for ${size} tokens`,
      got: String(allowed.length),
    });
  }
}
