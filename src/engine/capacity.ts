import { HalfbyteError } from "../errors.ts";
import { blocksFor } from "../plan/cache-layout.ts";
import { BLOCK_TOKENS } from "../plan/plan.ts";
import type { EngineOptions } from "./engine.ts";

/** How much an engine takes on, and the memory it may use for that. */
export interface CapacityOptions {
  /**
   * Tokens whose keys and values are kept, of all generations together. Default 4 × contextLength, or what fits into the
   * machine's free memory if that is less, but contextLength at least. Memory is taken as it is needed, and never more.
   */
  readonly cacheTokens?: number;
  /** The same bound in bytes, in place of `cacheTokens`. */
  readonly cacheBytes?: number;
  /** Generations that have their turn in every step; others wait. Each costs a row of logits. Default 8. */
  readonly maxSequences?: number;
  /** Generations that may wait, beyond which ERR_QUEUE_FULL refuses them. Default 1024. */
  readonly maxWaiting?: number;
  /** Tokens that one step computes at most, of all prompts and answers together. Default 128. */
  readonly stepTokens?: number;
  /** Of these, tokens of prompts while answers are under way: fewer let answers flow, more read prompts sooner. Default 64. */
  readonly promptTokens?: number;
}

export interface Capacity extends Omit<EngineOptions, "cacheTokens"> {
  /** For the compiler of the plan. */
  readonly maxRows: number;
  readonly maxLogitRows: number;
  /** Positions in the cache, when blocks have so many bytes and the machine so many free. Throws ERR_ARGUMENT. */
  cacheTokens(blockBytes: number, availableBytes: number | undefined): number;
}

/** Conversations of full length that the cache has room for at once, by default. */
const FULL_CONTEXTS = 4;
/** Of the memory that is free when the weights are loaded: the rest is left to everything else. */
const MEMORY_PART = 0.75;
/** A single user pays for these rows of logits too: guesses are checked in them. */
const LEAST_LOGIT_ROWS = 8;
/** Far past what one machine can do, and few enough that sizes stay exact. */
const MAX_COUNT = 1 << 16;

/** Throws ERR_ARGUMENT, with the option's name, for what cannot be. */
export function checkCapacity(options: CapacityOptions, contextLength: number): Capacity {
  const { cacheTokens, cacheBytes } = options;
  const maxSequences = checkCount("maxSequences", options.maxSequences ?? 8, 1);
  const maxRows = checkCount("stepTokens", options.stepTokens ?? 128, 1);
  if (cacheTokens !== undefined) {
    if (cacheBytes !== undefined) throw invalid("cacheBytes", "none beside cacheTokens", cacheBytes);
    if (!Number.isSafeInteger(cacheTokens) || cacheTokens < contextLength)
      throw invalid("cacheTokens", `an integer from ${contextLength}, the context length`, cacheTokens);
  }
  return {
    maxRows,
    maxLogitRows: Math.max(LEAST_LOGIT_ROWS, maxSequences),
    maxSequences,
    maxWaiting: checkCount("maxWaiting", options.maxWaiting ?? 1024, 0),
    promptRows: checkCount("promptTokens", options.promptTokens ?? 64, 1),
    cacheTokens(blockBytes, availableBytes) {
      if (cacheTokens !== undefined) return cacheTokens;
      if (cacheBytes !== undefined) {
        const least = blocksFor(contextLength) * blockBytes;
        if (!(cacheBytes >= least)) throw invalid("cacheBytes", `at least ${least}, for one context`, cacheBytes);
        return Math.min(tokensIn(cacheBytes, blockBytes), Number.MAX_SAFE_INTEGER);
      }
      const wanted = FULL_CONTEXTS * contextLength;
      if (availableBytes === undefined) return wanted;
      // A container counts the cached pages of the model's file as used, and may seem full when it is not: one context
      // is tried in any case.
      return Math.max(contextLength, Math.min(wanted, tokensIn(availableBytes * MEMORY_PART, blockBytes)));
    },
  };
}

function tokensIn(bytes: number, blockBytes: number): number {
  return Math.floor(bytes / blockBytes) * BLOCK_TOKENS;
}

function checkCount(place: string, count: number, least: number): number {
  if (Number.isSafeInteger(count) && count >= least && count <= MAX_COUNT) return count;
  throw invalid(place, `an integer from ${least} to ${MAX_COUNT}`, count);
}

function invalid(place: string, expected: string, got: unknown): HalfbyteError {
  return new HalfbyteError("ERR_ARGUMENT", "unusable capacity", { place, expected, got: String(got) });
}
