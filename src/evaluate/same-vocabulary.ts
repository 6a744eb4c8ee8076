import { HalfbyteError } from "../errors.ts";
import type { Tokenizer } from "../text/tokenizer.ts";

export interface Vocabulary {
  /** The model, for messages. */
  readonly name: string;
  readonly tokenizer: Tokenizer;
  /** Logits of a step. */
  readonly size: number;
}

/**
 * Throws ERR_ARGUMENT unless both have the same tokens under the same ids and cut the text alike: only then are
 * probabilities of the one comparable with those of the other.
 */
export function checkSameVocabulary(a: Vocabulary, b: Vocabulary, text: string): void {
  if (a.size !== b.size) throw different(a, b, `${a.size} tokens`, `${b.size} tokens`);
  // Some files pad their token lists to the size of the logits and some do not.
  const common = Math.min(a.tokenizer.vocabularySize, b.tokenizer.vocabularySize);
  for (let id = 0; id < common; id++) {
    if (sameBytes(a.tokenizer.tokenBytes(id), b.tokenizer.tokenBytes(id))) continue;
    throw different(a, b, `token ${id} ${shownToken(a, id)}`, shownToken(b, id));
  }
  const [ofA, ofB] = [a, b].map(({ tokenizer }) => tokenizer.encode(text, { addBos: false }));
  const at = ofA!.findIndex((id, i) => id !== ofB![i]);
  if (at >= 0) throw different(a, b, `token ${at} of the text ${shownToken(a, ofA![at]!)}`, "another");
  if (ofA!.length !== ofB!.length) throw different(a, b, `a text of ${ofA!.length} tokens`, String(ofB!.length));
}

function sameBytes(a: Uint8Array, b: Uint8Array): boolean {
  if (a.length !== b.length) return false;
  for (let i = 0; i < a.length; i++) if (a[i] !== b[i]) return false;
  return true;
}

function shownToken({ tokenizer }: Vocabulary, id: number): string {
  return JSON.stringify(new TextDecoder().decode(tokenizer.tokenBytes(id).subarray(0, 100)));
}

function different(a: Vocabulary, b: Vocabulary, expected: string, got: string): HalfbyteError {
  return new HalfbyteError("ERR_ARGUMENT", "models of different vocabularies cannot be compared", {
    place: b.name,
    expected: `${expected}, as ${a.name} has it`,
    got,
  });
}
