import type { Command } from "commander";
import { Option } from "commander";
import type { GenerateOptions } from "../engine/generate-options.ts";
import type { SamplingOptions } from "../engine/sampling/options.ts";
import type { LoadModelOptions } from "../load-model.ts";
import { collect, collectBias, integerFrom, numberArgument } from "./number-arguments.ts";

export interface RunOptions extends SamplingOptions {
  readonly system?: string;
  readonly raw?: boolean;
  readonly maxTokens?: number;
  readonly stop?: readonly string[];
  readonly ignoreEnd?: boolean;
  readonly context?: number;
  readonly threads?: number;
  readonly executor?: string;
  readonly kernel?: string;
  readonly activations?: NonNullable<LoadModelOptions["activations"]>;
  readonly cacheType?: NonNullable<LoadModelOptions["cacheType"]>;
  readonly floatWeights?: NonNullable<LoadModelOptions["floatWeights"]>;
  readonly chatTemplate?: string;
  readonly json?: boolean;
  readonly verbose?: boolean;
  readonly quiet?: boolean;
}

/** The options of `run` and `start`. */
export function addRunOptions(command: Command): Command {
  const count = integerFrom(1);
  const group = (heading: string): void => void command.optionsGroup(heading);
  group("Prompt:");
  command
    .option("-s, --system <text>", "what the model is told before the conversation")
    .option("--raw", "go on from PROMPT as it stands, without the chat template")
    .option("--chat-template <file>", "a Jinja chat template in place of the model's own");
  group("Answer:");
  command
    .option("-n, --max-tokens <count>", "tokens to generate at most (default: what the context has room for)", count)
    .option("--stop <text>", "a text that ends the answer; may be given more than once", collect)
    .option("--ignore-end", "go on past the model's end tokens");
  group("Sampling (docs/sampling.md has the formulas):");
  command
    .option("-t, --temperature <number>", "0 takes the likeliest token each time (default: 0)", numberArgument)
    .option("--top-k <count>", "keep this many of the likeliest tokens", numberArgument)
    .option("--top-p <part>", "keep the likeliest tokens that reach this probability together", numberArgument)
    .option("--min-p <part>", "keep tokens at least this part as likely as the likeliest", numberArgument)
    .option("--typical-p <part>", "keep the most typical tokens that reach this probability together", numberArgument)
    .option("--repetition-penalty <number>", "make tokens of prompt and answer less likely, above 1", numberArgument)
    .option("--frequency-penalty <number>", "for each time that the answer has a token, -2 to 2", numberArgument)
    .option("--presence-penalty <number>", "once if the answer has a token, -2 to 2", numberArgument)
    .option("--penalty-window <count>", "penalties look at this many of the last tokens", numberArgument)
    .option("--logit-bias <id=bias>", "make a token more or less likely; may be given more than once", collectBias)
    .option("--seed <integer>", "the same seed gives the same answer (default: random)", numberArgument)
    .option(
      "--logprobs <count>",
      "with --json: log-probabilities of each token and of this many others",
      numberArgument,
    );
  group("Model:");
  command.option("-c, --context <tokens>", "tokens that prompt and answer may have together", count);
  addExecutorOptions(command);
  group("Output:");
  return command
    .option("--json", "one JSON object on standard output when the answer is complete")
    .option("-q, --quiet", "only the answer: no progress and no summary")
    .option("--verbose", "say also which kernels were not taken, and show stacks of errors");
}

/** What decides how a plan is compiled and where it runs: for `run` and `inspect`. */
export function addExecutorOptions(command: Command): Command {
  return addPlaceOptions(command)
    .addOption(
      new Option("--activations <mode>", "precision of activations (default: a8)").choices([
        "a8",
        "a16",
        "a8-per-token",
      ]),
    )
    .addOption(
      new Option("--cache-type <type>", "how keys and values are kept (default: f16)").choices(["f16", "f32"]),
    );
}

/** Where something runs. */
export function addPlaceOptions(command: Command): Command {
  return command
    .option("--threads <count>", "threads to compute with (default: what doctor says)", integerFrom(1))
    .option("--executor <name>", "native, wasm or reference (default: the first that runs here)")
    .option("--kernel <name>", "an instruction set, such as avx2 or simd (default: the best here)");
}

export function samplingOptions(options: RunOptions): SamplingOptions {
  const { topK, topP, minP, typicalP, seed, logprobs, logitBias } = options;
  const { repetitionPenalty, frequencyPenalty, presencePenalty, penaltyWindow } = options;
  // The likeliest token by default, so that an answer can be had again.
  const temperature = options.temperature ?? 0;
  const penalties = { repetitionPenalty, frequencyPenalty, presencePenalty, penaltyWindow };
  return { temperature, topK, topP, minP, typicalP, seed, logprobs, logitBias, ...penalties };
}

export function generateOptions(options: RunOptions, signal: AbortSignal): GenerateOptions {
  const { maxTokens, stop, ignoreEnd } = options;
  return {
    ...samplingOptions(options),
    ...(maxTokens !== undefined && { maxTokens }),
    ...(stop && { stop }),
    ...(ignoreEnd && { ignoreEnd }),
    signal,
  };
}

export function loadOptions(options: RunOptions): Omit<LoadModelOptions, "signal" | "onProgress" | "chatTemplate"> {
  const { context, threads, executor, kernel, activations, cacheType, floatWeights } = options;
  return {
    ...(context !== undefined && { contextLength: context }),
    ...(threads !== undefined && { threads }),
    ...(executor !== undefined && { executor }),
    ...(kernel !== undefined && { kernel }),
    ...(activations && { activations }),
    ...(cacheType && { cacheType }),
    ...(floatWeights && { floatWeights }),
  };
}
