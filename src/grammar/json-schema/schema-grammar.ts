import { automatonExpression, isVoid } from "../automaton.ts";
import type { Expression, ExpressionPool, Rule } from "../expression.ts";
import { arrayExpression } from "./arrays.ts";
import type { JsonText } from "./json-text.ts";
import { numberExpression } from "./numbers.ts";
import { objectExpression } from "./objects.ts";
import { SchemaDocument, type SchemaNode } from "./schema-document.ts";
import { type Shape, ShapeReader, type TypeName } from "./shape.ts";
import { ShapeRules } from "./shape-rules.ts";

/** Makes a grammar of a schema. Each set of schemas that hold at one place becomes a rule, so that recursion ends. */
export class SchemaGrammar {
  readonly pool: ExpressionPool;
  readonly json: JsonText;
  readonly rules: ShapeRules = new ShapeRules();
  readonly #document: SchemaDocument;
  readonly #known = new Map<string, Rule>();
  readonly #numbers = new Map<string, Expression>();
  readonly #open: { rule: Rule; nodes: readonly SchemaNode[] }[] = [];

  /** Throws ERR_GRAMMAR for a root that is no schema. */
  constructor(pool: ExpressionPool, json: JsonText, schema: unknown) {
    this.pool = pool;
    this.json = json;
    this.#document = new SchemaDocument(schema);
    this.rules.reader = new ShapeReader(this.#document, (a, b) => this.rules.overlap(a, b));
  }

  /**
   * The JSON texts of all valid values, or of those that are objects. Throws ERR_GRAMMAR with the place of what cannot be
   * enforced.
   */
  compile(only?: "object"): Expression {
    const root = this.value([this.#document.root, ...(only ? [this.#document.node({ type: only }, "#")] : [])]);
    for (let next = this.#open.pop(); next; next = this.#open.pop()) {
      const { rule, nodes } = next;
      rule.body = this.pool.choice(...this.rules.read(nodes).flatMap((shape) => this.#shape(shape)));
    }
    return root;
  }

  /** The values that satisfy some schemas together. */
  value(nodes: readonly SchemaNode[]): Expression {
    const distinct = [...new Map(nodes.map((node) => [node.id, node])).values()]
      .filter(({ schema }) => schema !== true)
      .sort((a, b) => a.id - b.id);
    if (distinct.some(({ schema }) => schema === false)) return this.pool.nothing;
    const key = distinct.map(({ id }) => id).join();
    let rule = this.#known.get(key);
    if (!rule) {
      rule = { name: distinct.map(({ place }) => place).join(" with ") || "any value", body: undefined };
      this.#known.set(key, rule);
      this.#open.push({ rule, nodes: distinct });
    }
    return this.pool.rule(rule);
  }

  #shape(shape: Shape): readonly Expression[] {
    if (!shape.values) return [...shape.types].map((type) => this.#type(type, shape));
    const values = this.rules.values(shape);
    const scalars = values.filter((value) => typeof value !== "object" || value === null);
    const others = values.filter((value) => typeof value === "object" && value !== null);
    return [
      this.json.oneOf(scalars.map((value) => JSON.stringify(value).toWellFormed())),
      ...others.map((value) => this.json.literal(value)),
    ];
  }

  #type(type: TypeName, shape: Shape): Expression {
    const { pool } = this;
    switch (type) {
      case "null":
        return pool.text("null");
      case "boolean":
        return this.json.oneOf(["true", "false"]);
      case "number":
        return this.#number(shape);
      case "string":
        return this.#string(shape);
      case "array":
        return arrayExpression(this, shape);
      case "object":
        return objectExpression(this, shape);
    }
  }

  #number({ number, place }: Shape): Expression {
    const key = `${number.integer} ${number.min} ${number.max} ${number.multiples}`;
    let known = this.#numbers.get(key);
    if (!known) this.#numbers.set(key, (known = numberExpression(this.pool, number, place)));
    return known;
  }

  #string(shape: Shape): Expression {
    if (shape.minLength > shape.maxLength) return this.pool.nothing;
    const texts = this.rules.texts(shape);
    if (!texts) return this.json.string(shape.minLength, shape.maxLength);
    if (isVoid(texts)) return this.pool.nothing;
    return this.json.quoted(automatonExpression(this.pool, texts, (set) => this.json.spell(set)));
  }
}

/** Any JSON object. */
export function jsonObject(pool: ExpressionPool, json: JsonText): Expression {
  return new SchemaGrammar(pool, json, true).compile("object");
}
