import { HalfbyteError } from "../errors.ts";
import type { Model } from "../model.ts";
import type { ChatMessage } from "../text/chat-template.ts";
import { ChatInput } from "./chat-input.ts";
import { formatRate, plural } from "./format.ts";
import { errorLine } from "./report-error.ts";
import { openingMessages, streamAnswer } from "./run.ts";
import { generateOptions, type RunOptions } from "./run-options.ts";
import { describeModel } from "./summary.ts";
import { styled } from "./terminal-text.ts";

const HELP = `/clear  forgets the conversation
/exit   leaves, as do Ctrl-D, and Ctrl-C on an empty line
/help   shows this
Ctrl-C stops an answer. A line that ends in a backslash goes on in the next; pasted lines are one message.
`;

/** A conversation in the terminal, until the user leaves it. */
export async function chat(model: Model, options: RunOptions, interrupt: AbortSignal): Promise<void> {
  const { stdout } = process;
  const say = (text: string): void => void stdout.write(`${styled(stdout, "dim", text)}\n`);
  if (!options.quiet) say(`${describeModel(model.info)} · /help lists commands`);
  const input = new ChatInput();
  const leave = (): void => input.close();
  interrupt.addEventListener("abort", leave);
  let messages = openingMessages(options);
  try {
    for (;;) {
      const message = await input.read();
      interrupt.throwIfAborted();
      if (message === undefined || message === "/exit") return;
      if (message === "/clear") {
        messages = openingMessages(options);
        say("The conversation is forgotten.");
      } else if (message === "/help") {
        stdout.write(HELP);
      } else if (/^\/\w+$/.test(message)) {
        say(`There is no command ${message}; /help lists those there are.`);
      } else if (message.trim()) {
        messages = await takeTurn(model, [...messages, { role: "user", content: message }], input, options, interrupt);
      }
    }
  } finally {
    interrupt.removeEventListener("abort", leave);
    input.close();
  }
}

/** The conversation after an answer, or as it was before the user's message where no answer could be given. */
async function takeTurn(
  model: Model,
  messages: readonly ChatMessage[],
  input: ChatInput,
  options: RunOptions,
  interrupt: AbortSignal,
): Promise<ChatMessage[]> {
  const { stdout } = process;
  const stopped = new AbortController();
  input.onStop = () => stopped.abort(new DOMException("stopped", "AbortError"));
  const signal = AbortSignal.any([interrupt, stopped.signal]);
  let content = "";
  try {
    const generation = model.chat(messages, generateOptions(options, signal));
    try {
      await streamAnswer(generation, (text) => {
        content += text;
      });
      const { finishReason, usage, timings } = await generation.result;
      const limit = finishReason === "length" ? "the limit of tokens was reached · " : "";
      const pace = `${plural(usage.completionTokens, "token")} · ${formatRate(timings.decodeTokensPerSecond)}`;
      stdout.write(options.quiet ? "\n\n" : `\n${styled(stdout, "dim", limit + pace)}\n\n`);
    } catch (error) {
      if (!stopped.signal.aborted) throw error;
      stdout.write("\n\n");
    }
    // A turn that was stopped before its first word is as if it had not been.
    return content ? [...messages, { role: "assistant", content }] : messages.slice(0, -1);
  } catch (error) {
    interrupt.throwIfAborted();
    if (!(error instanceof HalfbyteError)) throw error;
    stdout.write(`${content && "\n"}${errorLine(error, stdout)}\n`);
    if (error.code === "context_length_exceeded") stdout.write("/clear makes room.\n");
    return messages.slice(0, -1);
  } finally {
    input.onStop = () => {};
  }
}
