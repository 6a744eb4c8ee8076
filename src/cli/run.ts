import { setImmediate as nextTurn } from "node:timers/promises";
import type { Generation } from "../engine/generation.ts";
import { checkSamplingOptions } from "../engine/sampling/options.ts";
import { HalfbyteError } from "../errors.ts";
import type { Model } from "../model.ts";
import type { ChatMessage } from "../text/chat-template.ts";
import { loadWithProgress } from "./load.ts";
import { readPrompt } from "./read-prompt.ts";
import { generateOptions, type RunOptions, samplingOptions } from "./run-options.ts";
import { describeModel, describeRejected, describeTimings, resultJson } from "./summary.ts";
import { styled, withoutControls } from "./terminal-text.ts";

/** Answers one prompt, or chats where there is none and a terminal to chat in. */
export async function run(
  reference: string,
  words: readonly string[],
  options: RunOptions,
  interrupt: AbortSignal,
): Promise<void> {
  checkOptions(options);
  const prompt = await readPrompt(words, interrupt);
  if (prompt === undefined && (options.raw || options.json))
    throw new HalfbyteError("ERR_ARGUMENT", `${options.raw ? "--raw" : "--json"} needs a prompt`, { place: "PROMPT" });
  const model = await loadWithProgress(reference, options, interrupt);
  try {
    if (!options.raw && model.chatTemplates.names.length === 0) throw noTemplate(model);
    if (options.verbose) process.stderr.write(describeRejected(model.info));
    if (prompt !== undefined) await answer(model, prompt, options, interrupt);
    else await (await import("./chat.ts")).chat(model, options, interrupt);
  } finally {
    await model.dispose();
  }
}

/** The conversation before the user's first turn. */
export function openingMessages({ system }: RunOptions): ChatMessage[] {
  return system === undefined ? [] : [{ role: "system", content: system }];
}

/** Writes an answer's text as it comes, harmless for a terminal; `onText` gets it as the model wrote it. */
export async function streamAnswer(generation: Generation, onText: (text: string) => void = () => {}): Promise<void> {
  const { stdout } = process;
  for await (const text of generation) {
    stdout.write(stdout.isTTY ? withoutControls(text) : text);
    onText(text);
    await nextTurn(); // an executor on this thread leaves no room for signals
  }
}

async function answer(model: Model, prompt: string, options: RunOptions, interrupt: AbortSignal): Promise<void> {
  const generation = options.raw
    ? model.complete(prompt, generateOptions(options, interrupt))
    : model.chat([...openingMessages(options), { role: "user", content: prompt }], generateOptions(options, interrupt));
  if (options.json) {
    process.stdout.write(`${resultJson(model.info, await generation.result)}\n`);
    return;
  }
  try {
    await streamAnswer(generation);
  } finally {
    process.stdout.write("\n");
  }
  if (options.quiet) return;
  const summary = `${describeModel(model.info)} · ${describeTimings(await generation.result)}`;
  process.stderr.write(`${styled(process.stderr, "dim", summary)}\n`);
}

/** Before anything is fetched. */
function checkOptions(options: RunOptions): void {
  checkSamplingOptions(samplingOptions(options));
  if (options.logprobs !== undefined && !options.json)
    throw new HalfbyteError("ERR_ARGUMENT", "--logprobs needs --json", { place: "--logprobs" });
  if (options.raw && options.system !== undefined)
    throw new HalfbyteError("ERR_ARGUMENT", "--raw has no place for a system prompt", { place: "--system" });
}

function noTemplate(model: Model): HalfbyteError {
  return new HalfbyteError("ERR_NO_CHAT_TEMPLATE", "this model has no chat template", {
    place: model.info.name,
    remedy: "it is likely a base model: let it go on from a text with --raw, or give --chat-template FILE",
  });
}
