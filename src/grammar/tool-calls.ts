import type { Expression, ExpressionPool } from "./expression.ts";
import { grammarError } from "./grammar-error.ts";
import type { JsonText } from "./json-schema/json-text.ts";
import { SchemaGrammar } from "./json-schema/schema-grammar.ts";
import type { ConstraintSpec } from "./token-constraint.ts";

/** One call of a tool or more, each with arguments that satisfy its schema. */
export function toolCalls(
  pool: ExpressionPool,
  json: JsonText,
  { tools, syntax, maxCalls = 1 }: Extract<ConstraintSpec, { type: "tool_calls" }>,
): Expression {
  if (tools.length === 0) throw grammarError("there is no tool to call", "tools");
  const { open, close, between, list, argumentsKey } = syntax;
  const calls = tools.map(({ name, parameters }, i) => {
    const schema = parameters ?? { type: "object", additionalProperties: false };
    const values = inPlace(`tools[${i}]`, () => new SchemaGrammar(pool, json, schema).compile("object"));
    return pool.sequence(
      pool.text("{"),
      json.pair(pool.text('"name"'), pool.text(JSON.stringify(name))),
      json.comma,
      json.pair(pool.text(JSON.stringify(argumentsKey)), values),
      pool.text("}"),
    );
  });
  const call = pool.choice(...calls);
  const one = list ? call : pool.sequence(pool.text(open), call, pool.text(close));
  const separator = list ? json.comma : pool.text(between);
  const all = pool.sequence(one, pool.repeat(pool.sequence(separator, one), 0, Math.max(1, maxCalls) - 1));
  return list ? pool.sequence(pool.text(`${open}[`), all, pool.text(`]${close}`)) : all;
}

/** Adds to an error which tool it is about. */
function inPlace<T>(tool: string, work: () => T): T {
  try {
    return work();
  } catch (error) {
    const { message } = error as Error;
    throw grammarError(message, tool, { cause: error });
  }
}
