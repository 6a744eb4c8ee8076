/** What every arm offers to the bench: the same few things, whatever runs behind them. */
export interface Arm {
  /** Kernel and threads that are really in use. */
  readonly description: string;
  /** Packed weights in memory, where the arm can tell. */
  readonly weightBytes?: number;
  /** Greedy tokens after a prompt, going on past end tokens. */
  generate(prompt: string, count: number): Promise<Generated>;
  close(): Promise<unknown>;
}

export interface Generated {
  readonly text: string;
  /** Prompt tokens that were computed: not those that a cache still had. */
  readonly promptTokens: number;
  /** From the start to the first token of the answer. */
  readonly promptMs: number;
  /** Tokens after the first. */
  readonly decodedTokens: number;
  readonly decodeMs: number;
}

export interface ArmOptions {
  readonly threads: number;
  readonly contextLength: number;
}

/** `model` is a Blob in a page and a path in Node. */
export type OpenArm = (model: never, options: ArmOptions) => Promise<Arm>;

export interface Task extends ArmOptions {
  /** Text for the first answer and for decoding. */
  readonly shortPrompt: string;
  readonly warmUpPrompt: string;
  readonly longPrompt: string;
  readonly longPromptTokens: number;
  readonly decodeTokens: number;
}

/** What one run of an arm gives. */
export interface Figures {
  readonly description: string;
  readonly weightBytes?: number;
  /** From the model's file being in memory (a page) or on disk (Node) to the first token of a short prompt. */
  readonly firstTokenMs: number;
  readonly prefillTokensPerSecond: number;
  readonly decodeTokensPerSecond: number;
  /** Processors that were busy on average while decoding and prefilling, by the operating system's count. */
  readonly decodeProcessors?: number;
  readonly prefillProcessors?: number;
  readonly text: string;
}
