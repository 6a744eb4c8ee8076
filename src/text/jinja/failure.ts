import { HalfbyteError } from "../../errors.ts";

/** Ends the rendering with ERR_CHAT_TEMPLATE. */
export function fail(problem: string, cause?: unknown): never {
  throw new HalfbyteError("ERR_CHAT_TEMPLATE", problem, { place: "chat template", cause });
}

/** A text of the template or the conversation, short enough for an error message. */
export function quoted(text: string): string {
  return JSON.stringify(text.length > 200 ? `${text.slice(0, 200)}…` : text);
}
