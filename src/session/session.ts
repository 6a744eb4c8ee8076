import type { SamplerState } from "../engine/sampling/sampler.ts";

/** A text under way: all that is needed to go on with it as if it had never stopped. */
export interface Session {
  /** The prompt, then the answer so far. */
  readonly tokens: Int32Array;
  /** How many of them are the prompt: penalties tell them apart. */
  readonly promptLength: number;
  /** The sampler's place in its stream. */
  readonly sampler: SamplerState;
}
