export interface ArmOptions {
  readonly model: string;
  readonly threads: number;
  /** Sequences that stand in the cache at once, and tokens each of them may have. */
  readonly sequences: number;
  readonly context: number;
}

/** A model whose steps can be timed by themselves: no tokenizer, no sampling. Every figure is milliseconds. */
export interface StepArm {
  readonly description: string;
  /** Packed weights, where it is known. */
  readonly weightBytes?: number;
  /** One prompt of so many tokens in a fresh sequence, logits for its last. */
  prefill(tokens: number): Promise<number>;
  /** Gives each of so many sequences a prompt of `context` tokens, untimed, for `decode` to go on from. */
  fill(sequences: number, context: number): Promise<void>;
  /** One step: a token for each of the filled sequences, logits for every one. */
  decode(): Promise<number>;
  close(): Promise<void>;
}

export type OpenStepArm = (options: ArmOptions) => Promise<StepArm>;
