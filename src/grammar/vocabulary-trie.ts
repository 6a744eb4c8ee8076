import type { Tokenizer } from "../text/tokenizer.ts";
import { plainLengths } from "./plain-text.ts";

/** What of a tokenizer constraints need. */
export type ConstraintTokenizer = Pick<
  Tokenizer,
  "vocabularySize" | "endOfGenerationIds" | "tokenBytes" | "isSpecial" | "addedTokenId"
>;

/**
 * Tokens as a tree of their bytes, in the order of a walk that goes down first: a node's subtree is the nodes from it to
 * `after[node]`. Node 0 is the root, which has no byte.
 */
export interface VocabularyTrie {
  readonly byte: Uint8Array;
  readonly depth: Uint16Array;
  readonly after: Int32Array;
  /** How many characters of plain text a node's subtree has; see plain-text.ts. */
  readonly plain: Uint8Array;
  /** The tokens that end at a node are ids[idStart[node] .. idStart[node + 1]]. */
  readonly idStart: Int32Array;
  readonly ids: Int32Array;
}

/** Longer ones stand for no answer anybody wants, and would make the tree as large as an attacker likes. */
const MAX_TOKEN_BYTES = 1024;

/** The tree of all tokens that are text and at least `min` and at most `max` bytes long. */
export function buildTrie(tokenizer: ConstraintTokenizer, min: number, max: number): VocabularyTrie {
  const tokens: { id: number; key: string }[] = [];
  for (let id = 0; id < tokenizer.vocabularySize; id++) {
    if (tokenizer.isSpecial(id) || tokenizer.endOfGenerationIds.has(id)) continue;
    const bytes = tokenizer.tokenBytes(id);
    if (bytes.length < Math.max(1, min) || bytes.length > Math.min(max, MAX_TOKEN_BYTES)) continue;
    // Latin-1 strings compare as their bytes do, and sorting strings is quick.
    tokens.push({ id, key: String.fromCharCode(...bytes) });
  }
  tokens.sort((a, b) => (a.key < b.key ? -1 : a.key > b.key ? 1 : a.id - b.id));

  const bytes: number[] = [0];
  const depths: number[] = [0];
  const after: number[] = [0];
  const idStart: number[] = [0];
  const ids = new Int32Array(tokens.length);
  const path = [0];
  let previous = "";
  for (let i = 0; i < tokens.length; i++) {
    const { id, key } = tokens[i]!;
    let common = 0;
    while (common < previous.length && common < key.length && previous.charCodeAt(common) === key.charCodeAt(common))
      common++;
    while (path.length > common + 1) after[path.pop()!] = bytes.length;
    for (let at = common; at < key.length; at++) {
      path.push(bytes.length);
      bytes.push(key.charCodeAt(at));
      depths.push(at + 1);
      after.push(0);
      idStart.push(i);
    }
    ids[i] = id;
    previous = key;
  }
  for (const node of path) after[node] = bytes.length;
  idStart.push(tokens.length);
  const byte = Uint8Array.from(bytes);
  const depth = Uint16Array.from(depths);
  return {
    byte,
    depth,
    after: Int32Array.from(after),
    plain: plainLengths(byte, depth),
    idStart: Int32Array.from(idStart),
    ids,
  };
}
