import type { Embedding, EmbedOptions } from "./engine/embedding.ts";
import type { Engine } from "./engine/engine.ts";
import type { GenerateOptions } from "./engine/generate-options.ts";
import { type Generation, generate, resume } from "./engine/generation.ts";
import type { DraftModel, DraftSequence } from "./engine/speculation/draft-model.ts";
import type { EngineStatistics } from "./engine/statistics.ts";
import { HalfbyteError } from "./errors.ts";
import type { ExecutorInfo, PlanRunner, RunnerMemory, WeightSet } from "./executors/executor.ts";
import { linearKernels, type MatrixKernel } from "./executors/linear-kernels.ts";
import type { CompiledConstraint, ConstraintOptions, ConstraintSpec } from "./grammar/token-constraint.ts";
import type { Plan } from "./plan/plan.ts";
import type { Session } from "./session/session.ts";
import type { ChatMessage, ChatTemplateInput } from "./text/chat-template.ts";
import type { ChatTemplates } from "./text/open-text.ts";
import type { Tokenizer } from "./text/tokenizer.ts";

export interface ModelInfo {
  readonly name: string;
  readonly architecture: string;
  /** Numbers in all matrices and vectors; a tied output matrix counts once. */
  readonly parameters: number;
  /** Packed weights in memory. */
  readonly weightBytes: number;
  readonly bitsPerWeight: number;
  /** Tokens that prompt and answer together may have here. */
  readonly contextLength: number;
  readonly vocabularySize: number;
  readonly activations: Plan["activations"];
  readonly executor: ExecutorInfo;
}

export interface ChatOptions extends GenerateOptions {
  /** JSON schemas of functions, for templates that know tools. */
  readonly tools?: ChatTemplateInput["tools"];
  readonly documents?: ChatTemplateInput["documents"];
  /** One of the model's templates by name; default: its tool template when there are tools, else its default. */
  readonly templateName?: string;
  /** Further variables of the chat template. */
  readonly templateVariables?: Readonly<Record<string, unknown>>;
}

export interface ModelParts {
  readonly name: string;
  readonly architecture: string;
  readonly contextLength: number;
  readonly tokenizer: Tokenizer;
  readonly chatTemplates: ChatTemplates;
  readonly runner: PlanRunner;
  readonly engine: Engine;
  readonly weights: WeightSet;
  /** Closes the model's files. */
  readonly close: () => Promise<void>;
}

/** A loaded model. Made by `loadModel`; free it with `dispose`, or declare it with `await using`. */
export class Model implements AsyncDisposable, DraftModel {
  readonly info: ModelInfo;
  readonly tokenizer: Tokenizer;
  /** None for a base model. */
  readonly chatTemplates: ChatTemplates;
  readonly #parts: ModelParts;
  #disposed = false;
  #knownIdentity: Promise<string> | undefined;

  constructor(parts: ModelParts) {
    this.#parts = parts;
    this.tokenizer = parts.tokenizer;
    this.chatTemplates = parts.chatTemplates;
    this.info = modelInfo(parts);
  }

  /** The compiled step, for `inspect` and the curious. */
  get plan(): Plan {
    return this.#parts.runner.plan;
  }

  /** What multiplies each matrix, and why nothing faster does. */
  get kernels(): MatrixKernel[] {
    return linearKernels(this.plan, this.info.executor);
  }

  get memory(): RunnerMemory {
    return this.#parts.runner.memory;
  }

  /** What the model is doing, and what it has counted since it was loaded. */
  get stats(): EngineStatistics {
    return this.#parts.engine.statistics;
  }

  /**
   * A vector for each input: its tokens' last hidden states (after the last norm), averaged; f32 [hidden]. Not scaled.
   *
   * Throws `context_length_exceeded` for an input longer than the context, ERR_ARGUMENT for an empty one.
   */
  async embed(inputs: readonly (string | ArrayLike<number>)[], options: EmbedOptions = {}): Promise<Embedding[]> {
    if (this.#disposed) throw this.#disposedError();
    const prompts = inputs.map((input) => this.#promptIds(input));
    const { embed } = await import("./engine/embedding.ts");
    return embed(this.#parts, prompts, options);
  }

  /**
   * Answers a conversation through the model's chat template.
   *
   * Throws ERR_NO_CHAT_TEMPLATE for a model without one, ERR_CHAT_TEMPLATE when it refuses the conversation,
   * `context_length_exceeded` when the prompt leaves no room for an answer, ERR_ARGUMENT for bad options and no messages.
   */
  chat(messages: readonly ChatMessage[], options: ChatOptions = {}): Generation {
    if (messages.length === 0)
      throw new HalfbyteError("ERR_ARGUMENT", "the conversation is empty", {
        place: "messages",
        expected: "at least one message",
      });
    const prompt = this.renderChat(messages, options);
    return this.#generate(this.encodeChat(prompt), { startsText: true, ...options });
  }

  /** Goes on from a text, as it stands, or from token ids. Throws as `chat` does. */
  complete(prompt: string | ArrayLike<number>, options: GenerateOptions = {}): Generation {
    return this.#generate(this.#promptIds(prompt), options);
  }

  /**
   * Compiles a language that answers must be of: JSON by a schema, a regular expression, a grammar. It serves any number
   * of answers, each with a `start()` of its own as the option `constraint`. Meant for answers that start a text, as those
   * of `chat` do; docs/structured-output.md has the rest. Throws ERR_GRAMMAR.
   */
  async compileConstraint(spec: ConstraintSpec, options: ConstraintOptions = {}): Promise<CompiledConstraint> {
    const { compileConstraint } = await import("./grammar/compile-constraint.ts");
    const { vocabularySize } = this.info;
    return compileConstraint(spec, this.tokenizer, {
      vocabularySize,
      dropsFirstSpace: this.tokenizer.stripsLeadingSpace,
      ...options,
    });
  }

  /** Goes on with an answer as if it had never stopped; `maxTokens` counts anew. Throws as `chat` does. */
  resume(session: Session, options: GenerateOptions = {}): Generation {
    if (this.#disposed) throw this.#disposedError();
    return resume(this.#parts, { ...session, tokens: this.#promptIds(session.tokens) }, options);
  }

  /** A session's bytes, which this model alone takes back. */
  async encodeSession(session: Session): Promise<Uint8Array> {
    const { encodeSession } = await import("./session/session-format.ts");
    return encodeSession(session, await this.#identity());
  }

  /**
   * Throws ERR_UNKNOWN_MODEL for the session of another model or of one loaded with other activations or cache type;
   * ERR_FORMAT, ERR_TRUNCATED, ERR_LIMIT, ERR_HASH or ERR_UNSUPPORTED for bytes that are no session.
   */
  async decodeSession(bytes: Uint8Array): Promise<Session> {
    const { decodeSession } = await import("./session/session-format.ts");
    return decodeSession(bytes, await this.#identity(), this.info.vocabularySize);
  }

  /** The text that the chat template makes of a conversation. */
  renderChat(messages: readonly ChatMessage[], options: Omit<ChatOptions, keyof GenerateOptions> = {}): string {
    const { tools = null, documents = null, templateVariables = {}, templateName } = options;
    const template = this.chatTemplates.choose({
      ...(templateName !== undefined && { name: templateName }),
      tools: tools !== null && tools.length > 0,
    });
    return template.render({ messages, tools, documents, variables: templateVariables });
  }

  /** Token ids of a rendered conversation: special tokens are parsed, and a beginning token is not doubled. */
  encodeChat(rendered: string): Int32Array {
    const { bosId, addBosByDefault } = this.tokenizer;
    const ids = this.tokenizer.encode(rendered, { parseSpecial: true, addBos: false });
    if (bosId === undefined || !addBosByDefault || ids[0] === bosId) return ids;
    return Int32Array.of(bosId, ...ids);
  }

  /** A text in the model's cache that it guesses on, for another model's `speculation: { draft }`. */
  async openDraft(): Promise<DraftSequence> {
    const { EngineDraft } = await import("./engine/speculation/engine-draft.ts");
    return new EngineDraft(this.#parts);
  }

  /** Frees memory and threads. Generations under way end with ERR_DISPOSED. Safe at any moment, and more than once. */
  async dispose(): Promise<void> {
    if (this.#disposed) return;
    this.#disposed = true;
    this.#parts.engine.close(this.#disposedError());
    await this.#parts.runner.dispose();
    await this.#parts.close();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.dispose();
  }

  #generate(prompt: Int32Array, options: GenerateOptions): Generation {
    if (this.#disposed) throw this.#disposedError();
    return generate(this.#parts, prompt, options);
  }

  async #identity(): Promise<string> {
    if (this.#disposed) throw this.#disposedError();
    const { modelIdentity } = await import("./session/model-identity.ts");
    this.#knownIdentity ??= modelIdentity(this.plan, this.#parts.weights);
    return this.#knownIdentity;
  }

  #disposedError(): HalfbyteError {
    return new HalfbyteError("ERR_DISPOSED", "the model was disposed", { place: this.info.name });
  }

  #promptIds(prompt: string | ArrayLike<number>): Int32Array {
    if (typeof prompt === "string") return this.tokenizer.encode(prompt);
    const ids = prompt;
    const size = this.info.vocabularySize;
    for (let i = 0; i < ids.length; i++)
      if (!Number.isInteger(ids[i]) || ids[i]! < 0 || ids[i]! >= size)
        throw new HalfbyteError("ERR_ARGUMENT", "not a token id", {
          place: `prompt[${i}]`,
          expected: `an integer from 0 to ${size - 1}`,
          got: String(ids[i]),
        });
    return Int32Array.from(ids);
  }
}

function modelInfo({ name, architecture, contextLength, runner }: ModelParts): ModelInfo {
  const { plan, executor, memory } = runner;
  const inMatrices = plan.matrices.reduce((sum, { layout }) => sum + layout.N * layout.K, 0);
  const parameters = plan.vectors.reduce((sum, { length }) => sum + length, inMatrices);
  return {
    name,
    architecture,
    parameters,
    weightBytes: memory.weightBytes,
    bitsPerWeight: (memory.weightBytes * 8) / parameters,
    contextLength,
    vocabularySize: plan.vocabularySize,
    activations: plan.activations,
    executor,
  };
}
