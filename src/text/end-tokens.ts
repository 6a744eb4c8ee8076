import type { AddedToken } from "./added-tokens.ts";

// Tokens that end an answer under whatever key their file has them, or none: by the names model makers give them.
const endTexts: ReadonlySet<string> = new Set([
  "<|eot_id|>",
  "<|eom_id|>",
  "<|im_end|>",
  "<|end|>",
  "<|endoftext|>",
  "<|end_of_text|>",
  "<end_of_turn>",
  "<EOT>",
  "</s>",
]);

/** The tokens that end an answer: those a file names, and special tokens with the usual names. */
export function endOfGeneration(
  named: Iterable<number | undefined>,
  added: readonly AddedToken[],
): ReadonlySet<number> {
  const ends = new Set<number>();
  for (const id of named) if (id !== undefined) ends.add(id);
  for (const token of added) if (token.special && endTexts.has(token.content)) ends.add(token.id);
  return ends;
}
