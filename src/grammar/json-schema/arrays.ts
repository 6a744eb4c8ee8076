import type { Expression } from "../expression.ts";
import { grammarError } from "../grammar-error.ts";
import type { SchemaGrammar } from "./schema-grammar.ts";
import type { Shape } from "./shape.ts";

/** Items with schemas of their own. */
const MAX_PREFIX = 1000;

/** The arrays of a shape. */
export function arrayExpression(grammar: SchemaGrammar, shape: Shape): Expression {
  const { pool, json } = grammar;
  const { minItems: min, maxItems: max } = shape;
  if (min > max) return pool.nothing;
  const prefix = shape.arrays.reduce((length, rule) => Math.max(length, rule.prefix.length), 0);
  if (prefix > MAX_PREFIX)
    throw grammarError("too many items with schemas of their own", shape.place, { expected: `at most ${MAX_PREFIX}` });
  const own = Math.min(prefix, max);
  const item = grammar.value(grammar.rules.item(shape, prefix));
  const following = (count: number): Expression =>
    pool.repeat(pool.sequence(json.comma, item), Math.max(0, min - count), max - count);
  // What may come after so many items, from the last on.
  let rest = following(own);
  if (own === 0 && max > 0) {
    const some = pool.sequence(item, following(1));
    rest = min === 0 ? pool.optional(some) : some;
  }
  for (let index = own - 1; index >= 0; index--) {
    const here = grammar.value(grammar.rules.item(shape, index));
    const further = pool.sequence(index === 0 ? pool.empty : json.comma, here, rest);
    rest = index >= min ? pool.optional(further) : further;
  }
  return pool.sequence(pool.text("["), json.space, rest, json.space, pool.text("]"));
}
