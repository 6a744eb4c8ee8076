import { HalfbyteError } from "../errors.ts";
import { automatonExpression, compilePattern } from "./automaton.ts";
import { utf8 } from "./code-points.ts";
import { type Expression, ExpressionPool } from "./expression.ts";
import { readGbnf } from "./gbnf.ts";
import { GrammarConstraint } from "./grammar-constraint.ts";
import { grammarError } from "./grammar-error.ts";
import { JsonText } from "./json-schema/json-text.ts";
import { jsonObject, SchemaGrammar } from "./json-schema/schema-grammar.ts";
import { readPattern } from "./regular-expression.ts";
import type { CompiledConstraint, ConstraintOptions, ConstraintSpec } from "./token-constraint.ts";
import { toolCalls } from "./tool-calls.ts";
import type { ConstraintTokenizer } from "./vocabulary-trie.ts";

/**
 * Compiles a language that answers must be of, for one tokenizer. Throws ERR_GRAMMAR, with the place, for what is
 * ill-formed, contradicts itself, is too large, or asks for something that cannot be enforced: nothing that would matter
 * is ignored. Time and memory are bounded for any input.
 */
export async function compileConstraint(
  spec: ConstraintSpec,
  tokenizer: ConstraintTokenizer,
  options: ConstraintOptions = {},
): Promise<CompiledConstraint> {
  const pool = new ExpressionPool();
  try {
    const root = expressionOf(pool, spec);
    return new GrammarConstraint(pool, root, tokenizer, options);
  } catch (error) {
    if (error instanceof HalfbyteError || !(error instanceof RangeError)) throw error;
    throw grammarError("nested too deep", spec.type, { cause: error });
  }
}

function expressionOf(pool: ExpressionPool, spec: ConstraintSpec): Expression {
  switch (spec.type) {
    case "json_schema":
      return new SchemaGrammar(pool, new JsonText(pool), spec.schema).compile();
    case "json_object":
      return jsonObject(pool, new JsonText(pool));
    case "regex": {
      const automaton = compilePattern(readPattern(spec.pattern, "pattern", true), "pattern");
      return automatonExpression(pool, automaton, (set) => utf8(pool, set));
    }
    case "gbnf":
      return readGbnf(pool, spec.grammar);
    case "tool_calls":
      return toolCalls(pool, new JsonText(pool), spec);
  }
}
