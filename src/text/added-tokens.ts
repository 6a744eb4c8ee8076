/** A token that is matched in text as a whole, before any other rule. */
export interface AddedToken {
  readonly id: number;
  readonly content: string;
  /** Matched only where special tokens are parsed, and left out where they are skipped. */
  readonly special: boolean;
  /** Takes the white space before it, or after it, with it. */
  readonly stripsLeft?: boolean;
  readonly stripsRight?: boolean;
  /** Matched in text as the model sees it, not as it was given. */
  readonly normalized?: boolean;
  /** Matched only where no letter, digit or underscore touches it. */
  readonly singleWord?: boolean;
}

interface Node {
  readonly children: Map<number, Node>;
  token?: AddedToken;
}

/** Finds added tokens in text, the longest at the leftmost place, in time bounded by the text times the longest token. */
export class AddedTokenMatcher {
  readonly #root: Node = { children: new Map() };

  constructor(tokens: Iterable<AddedToken>) {
    for (const token of tokens) {
      let node = this.#root;
      for (let i = 0; i < token.content.length; i++) {
        const unit = token.content.charCodeAt(i);
        let child = node.children.get(unit);
        if (!child) node.children.set(unit, (child = { children: new Map() }));
        node = child;
      }
      if (node !== this.#root) node.token ??= token;
    }
  }

  /** The text in order: stretches of text, and ids of the tokens between them. */
  split(text: string): (string | number)[] {
    const parts: (string | number)[] = [];
    let start = 0;
    for (let at = 0; at < text.length; ) {
      const token = this.#longestAt(text, at);
      if (!token) {
        at++;
        continue;
      }
      const end = at + token.content.length;
      let before = text.slice(start, at);
      if (token.stripsLeft) before = before.trimEnd();
      if (before) parts.push(before);
      parts.push(token.id);
      start = token.stripsRight ? text.length - text.slice(end).trimStart().length : end;
      at = start;
    }
    if (start < text.length) parts.push(text.slice(start));
    return parts;
  }

  #longestAt(text: string, start: number): AddedToken | undefined {
    let node: Node | undefined = this.#root.children.get(text.charCodeAt(start));
    let longest: AddedToken | undefined;
    for (let at = start + 1; node; at++) {
      if (node.token && (!node.token.singleWord || standsAlone(text, start, at))) longest = node.token;
      node = at < text.length ? node.children.get(text.charCodeAt(at)) : undefined;
    }
    return longest;
  }
}

function standsAlone(text: string, start: number, end: number): boolean {
  return (
    !/[\p{L}\p{N}\p{M}_]$/u.test(text.slice(Math.max(0, start - 2), start)) &&
    !/^[\p{L}\p{N}\p{M}_]/u.test(text.slice(end, end + 2))
  );
}
