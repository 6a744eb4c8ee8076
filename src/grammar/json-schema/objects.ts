import { type Automaton, automatonExpression, combine, compilePattern, isVoid } from "../automaton.ts";
import type { Expression } from "../expression.ts";
import { grammarError } from "../grammar-error.ts";
import type { SchemaNode } from "./schema-document.ts";
import type { SchemaGrammar } from "./schema-grammar.ts";
import type { Shape } from "./shape.ts";
import { ALL_TEXTS, textsPattern } from "./shape-rules.ts";

/** Declared keys: the recogniser looks at all that may come next. */
const MAX_PROPERTIES = 1000;
/** Keys times counts, where the number of keys is bounded. */
const MAX_COUNTED = 20_000;
/** Patterns of keys: each subset of them is a case of its own. */
const MAX_PATTERNS = 4;

/** The objects of a shape: declared keys in the order of their declaration, then others. */
export function objectExpression(grammar: SchemaGrammar, shape: Shape): Expression {
  const { pool, json, rules } = grammar;
  const names = [...new Set([...shape.objects.flatMap(({ properties }) => [...properties.keys()]), ...shape.required])];
  if (names.length > MAX_PROPERTIES)
    throw grammarError("too many properties", shape.place, { expected: `at most ${MAX_PROPERTIES}` });
  const declared: { pair: Expression; required: boolean }[] = [];
  for (const name of names) {
    const nodes = rules.property(shape, name);
    const required = shape.required.has(name);
    if (!nodes && required) return pool.nothing;
    if (nodes) declared.push({ pair: json.pair(pool.text(JSON.stringify(name)), grammar.value(nodes)), required });
  }
  const other = otherPairs(grammar, shape, names);
  const members = memberChain(grammar, shape, declared, other);
  return pool.sequence(pool.text("{"), json.space, members, json.space, pool.text("}"));
}

/** Declared pairs, each taken or left, then other pairs, all separated and as many as may be. */
function memberChain(
  grammar: SchemaGrammar,
  shape: Shape,
  declared: readonly { pair: Expression; required: boolean }[],
  other: Expression | undefined,
): Expression {
  const { pool, json } = grammar;
  const demanded = declared.filter(({ required }) => required).length;
  const min = shape.minProperties <= demanded ? 0 : shape.minProperties;
  const max = other === undefined && shape.maxProperties >= declared.length ? Infinity : shape.maxProperties;
  if (min > 0 && other !== undefined)
    throw grammarError("a number of keys that are not declared cannot be demanded", `${shape.place}/minProperties`, {
      remedy: "declare the keys, or name them under required",
    });
  // Without bounds all that counts is whether there was a pair before.
  const counts = min === 0 && max === Infinity ? 1 : declared.length;
  if (declared.length * counts > MAX_COUNTED && counts > 1)
    throw grammarError("too many properties to count", shape.place, { expected: `at most ${Math.sqrt(MAX_COUNTED)}` });

  // after[n]: what may follow when n pairs were taken; counts past the last are as good as it.
  let after = Array.from({ length: counts + 1 }, (_, taken): Expression => {
    if (taken < min || taken > max) return pool.nothing;
    if (!other) return pool.empty;
    const more = pool.sequence(json.comma, other);
    if (taken > 0) return pool.repeat(more, 0, max - taken);
    return max === 0 ? pool.empty : pool.optional(pool.sequence(other, pool.repeat(more, 0, max - 1)));
  });
  for (const { pair, required } of [...declared].reverse()) {
    const later = after;
    after = later.map((skipped, taken) => {
      const next = later[Math.min(taken + 1, counts)]!;
      const chosen = taken >= max ? pool.nothing : pool.sequence(taken === 0 ? pool.empty : json.comma, pair, next);
      return required ? chosen : pool.choice(chosen, skipped);
    });
  }
  return after[0]!;
}

/** A pair whose key is none of `names`; undefined if there is none such. */
function otherPairs(grammar: SchemaGrammar, shape: Shape, names: readonly string[]): Expression | undefined {
  const { pool, json, rules } = grammar;
  const { place, objects } = shape;
  const patterns = [
    ...new Map(objects.flatMap((rule) => rule.patterns.map(({ pattern }) => [pattern.source, pattern]))).values(),
  ];
  const rest = objects.map((rule) => rule.rest);
  if (patterns.length === 0 && rest.some(({ schema }) => schema === false)) return undefined;
  if (patterns.length === 0 && names.length === 0 && shape.names.length === 0)
    return json.pair(json.string(0, Infinity), grammar.value(rest));
  if (patterns.length > MAX_PATTERNS)
    throw grammarError("too many patterns of keys", place, { expected: `at most ${MAX_PATTERNS}` });

  const declared = compilePattern(textsPattern(names), place);
  const allowed = allowedKeys(grammar, shape).map((keys) => combine(keys, declared, place, true));
  const pairs: Expression[] = [];
  for (let subset = 0; subset < 2 ** patterns.length; subset++) {
    const matching = new Set(patterns.filter((_, i) => (subset >> i) & 1).map(({ source }) => source));
    const nodes = objects.flatMap((rule): SchemaNode[] => {
      const own = rule.patterns.filter(({ pattern }) => matching.has(pattern.source)).map(({ value }) => value);
      return own.length > 0 ? own : [rule.rest];
    });
    if (nodes.some(({ schema }) => schema === false)) continue;
    for (let keys of allowed) {
      for (const pattern of patterns)
        keys = combine(keys, rules.pattern(pattern), place, !matching.has(pattern.source));
      if (isVoid(keys)) continue;
      const key = json.quoted(automatonExpression(pool, keys, (set) => json.spell(set)));
      pairs.push(json.pair(key, grammar.value(nodes)));
    }
  }
  return pairs.length > 0 ? pool.choice(...pairs) : undefined;
}

/** The keys that `propertyNames` leaves. */
function allowedKeys(grammar: SchemaGrammar, shape: Shape): readonly Automaton[] {
  const { place, names } = shape;
  if (names.length === 0) return [ALL_TEXTS];
  return grammar.rules.read(names).flatMap((named) => {
    if (!named.types.has("string")) return [];
    if (named.values) {
      const texts = grammar.rules.values(named).filter((value) => typeof value === "string");
      return [compilePattern(textsPattern(texts), place)];
    }
    const texts = grammar.rules.texts({ ...named, patterns: [...named.patterns, ANY_KEY] });
    return texts ? [texts] : [];
  });
}

/** Makes an automaton of keys whose length alone is bounded. */
const ANY_KEY = { source: "", whole: false, place: "#" };
