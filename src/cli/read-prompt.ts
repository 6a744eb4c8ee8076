import { HalfbyteError } from "../errors.ts";

/** Four bytes for each of the 2^24 characters that a tokenizer takes at most. */
const MAX_INPUT_BYTES = 1 << 26;

/**
 * The prompt: the words of the command line; for `-`, or where there are no words and standard input is no terminal,
 * what standard input has. Undefined where a terminal is there to chat in.
 */
export async function readPrompt(words: readonly string[], signal: AbortSignal): Promise<string | undefined> {
  const wantsInput = words.at(-1) === "-";
  const given = (wantsInput ? words.slice(0, -1) : words).join(" ");
  if (words.length > 0 && !wantsInput) return checked(given);
  if (!wantsInput && process.stdin.isTTY) {
    if (process.stdout.isTTY) return undefined;
    throw new HalfbyteError("ERR_ARGUMENT", "a chat needs a terminal for its answers", {
      place: "standard output",
      remedy: "give a prompt",
    });
  }
  const input = await readInput(signal);
  return checked(given ? `${given}\n\n${input}` : input);
}

function checked(prompt: string): string {
  if (prompt.trim()) return prompt;
  throw new HalfbyteError("ERR_ARGUMENT", "the prompt is empty", { place: "PROMPT" });
}

async function readInput(signal: AbortSignal): Promise<string> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  const stop = (): void => void process.stdin.destroy(signal.reason);
  signal.addEventListener("abort", stop, { once: true });
  try {
    for await (const chunk of process.stdin as AsyncIterable<Buffer>) {
      bytes += chunk.byteLength;
      if (bytes > MAX_INPUT_BYTES)
        throw new HalfbyteError("ERR_LIMIT", "too long for a prompt", {
          place: "standard input",
          expected: `at most ${MAX_INPUT_BYTES} bytes`,
        });
      chunks.push(chunk);
    }
  } finally {
    signal.removeEventListener("abort", stop);
  }
  try {
    return new TextDecoder("utf-8", { fatal: true }).decode(Buffer.concat(chunks)).trimEnd();
  } catch (cause) {
    throw new HalfbyteError("ERR_FORMAT", "not UTF-8 text", { place: "standard input", cause });
  }
}
