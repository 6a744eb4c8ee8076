import type { CharacterEdge, Expression, ExpressionPool } from "./expression.ts";
import type { ReasoningMarks } from "./token-constraint.ts";

/** White space that may stand between the reasoning and the answer; the reasoning's reader takes it away. */
const MAX_SPACE = 4;

/** A language after reasoning. */
export function afterReasoning(pool: ExpressionPool, answer: Expression, { open, close }: ReasoningMarks): Expression {
  const white = pool.choice(pool.byte(0x20), pool.byte(0x09), pool.byte(0x0a));
  const reasoned = pool.sequence(until(pool, close), pool.repeat(white, 0, MAX_SPACE), answer);
  return open === undefined ? reasoned : pool.choice(pool.sequence(pool.text(open), reasoned), answer);
}

/** Any bytes up to and with the first occurrence of a text, by the automaton of Knuth, Morris and Pratt. */
function until(pool: ExpressionPool, text: string): Expression {
  const bytes = new TextEncoder().encode(text);
  // next[state]: where each byte leads from having seen so much of the text.
  const next: Int32Array[] = [];
  let border = 0;
  for (let state = 0; state < bytes.length; state++) {
    const row = state === 0 ? new Int32Array(256) : next[border]!.slice();
    if (state > 0) border = next[border]![bytes[state]!]!;
    row[bytes[state]!] = state + 1;
    next.push(row);
  }
  const edges = next.map((row): CharacterEdge[] =>
    Array.from(new Set(row), (to) => ({
      to,
      character: pool.bytes(Uint8Array.from(row, (one) => Number(one === to))),
    })),
  );
  edges.push([]);
  return pool.state({ edges, accepting: edges.map((_, state) => state === bytes.length) }, 0);
}
