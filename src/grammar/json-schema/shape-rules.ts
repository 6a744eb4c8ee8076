import { type Automaton, combine, compilePattern, isVoid, lengthPattern, matches, type Pattern } from "../automaton.ts";
import { ALL_CODE_POINTS, codePointsOf } from "../code-points.ts";
import { readPattern } from "../regular-expression.ts";
import { sameJson } from "./json-values.ts";
import type { SchemaNode } from "./schema-document.ts";
import type { Shape, ShapeReader, TextPattern, TypeName } from "./shape.ts";

/** How far into values two shapes are compared. */
const MAX_COMPARED_DEPTH = 4;

/** Answers questions about shapes: their texts, their keys, which values they hold, and whether two exclude each other. */
export class ShapeRules {
  readonly #automata = new Map<string, Automaton>();
  #reader: ShapeReader | undefined;
  #depth = 0;

  /** Where the shapes of subschemas come from; given once, since the reader asks for `overlap`. */
  set reader(reader: ShapeReader) {
    this.#reader = reader;
  }

  read(nodes: readonly SchemaNode[]): readonly Shape[] {
    return this.#reader!.read(nodes);
  }

  pattern({ source, whole, place }: TextPattern): Automaton {
    const key = `${whole}${source}`;
    let automaton = this.#automata.get(key);
    if (!automaton) {
      automaton = compilePattern(readPattern(source, place, whole), place);
      this.#automata.set(key, automaton);
    }
    return automaton;
  }

  /** The strings of a shape; undefined where only their length counts. */
  texts(shape: Shape): Automaton | undefined {
    const { patterns, minLength, maxLength, place } = shape;
    const [first, ...others] = patterns.map((pattern) => this.pattern(pattern));
    if (!first) return undefined;
    let automaton = others.reduce((all, one) => combine(all, one, place), first);
    if (minLength > 0 || maxLength !== Infinity)
      automaton = combine(automaton, compilePattern(lengthPattern(minLength, maxLength), place), place);
    return automaton;
  }

  /** What the value of a key must satisfy; undefined if the key may not be. */
  property(shape: Shape, name: string): readonly SchemaNode[] | undefined {
    const nodes: SchemaNode[] = [];
    for (const { properties, patterns, rest } of shape.objects) {
      const declared = properties.get(name);
      const matching = patterns.filter(({ pattern }) => matches(this.pattern(pattern), name));
      if (declared) nodes.push(declared);
      nodes.push(...matching.map(({ value }) => value));
      if (!declared && matching.length === 0) nodes.push(rest);
    }
    const named = shape.names.length === 0 || this.read(shape.names).some((one) => this.holds(name, one));
    return named && nodes.every(({ schema }) => schema !== false) ? nodes : undefined;
  }

  /** What the item at an index must satisfy. */
  item(shape: Shape, index: number): readonly SchemaNode[] {
    return shape.arrays.map(({ prefix, rest }) => prefix[index] ?? rest);
  }

  holds(value: unknown, shape: Shape): boolean {
    const type = typeOf(value);
    if (!type || !shape.types.has(type)) return false;
    switch (type) {
      case "number": {
        const { integer, min, max, multiples } = shape.number;
        const number = value as number;
        return (
          number >= min &&
          number <= max &&
          (!integer || Number.isInteger(number)) &&
          multiples.every((multiple) => Number.isInteger(number / multiple))
        );
      }
      case "string": {
        const text = value as string;
        const length = [...text].length;
        return (
          length >= shape.minLength &&
          length <= shape.maxLength &&
          shape.patterns.every((pattern) => matches(this.pattern(pattern), text))
        );
      }
      case "array": {
        const items = value as readonly unknown[];
        return (
          items.length >= shape.minItems &&
          items.length <= shape.maxItems &&
          items.every((item, i) => this.#holdsAny(item, this.item(shape, i)))
        );
      }
      case "object": {
        const entries = Object.entries(value as Record<string, unknown>);
        return (
          entries.length >= shape.minProperties &&
          entries.length <= shape.maxProperties &&
          [...shape.required].every((name) => Object.hasOwn(value as object, name)) &&
          entries.every(([name, item]) => {
            const nodes = this.property(shape, name);
            return nodes !== undefined && this.#holdsAny(item, nodes);
          })
        );
      }
      default:
        return true;
    }
  }

  #holdsAny(value: unknown, nodes: readonly SchemaNode[]): boolean {
    return this.read(nodes).some((shape) => this.values(shape, [value]).length > 0);
  }

  /** Those of some values, or of the shape's own, that satisfy it. */
  values(shape: Shape, among: readonly unknown[] = shape.values ?? []): readonly unknown[] {
    const own = shape.values;
    return among.filter(
      (value) => this.holds(value, shape) && (!own || own === among || own.some((one) => sameJson(one, value))),
    );
  }

  /** May a value satisfy both? True unless it is known that none does. */
  overlap(a: Shape, b: Shape): boolean {
    if (a.values) return this.values(a).some((value) => this.values(b, [value]).length > 0);
    if (b.values) return this.overlap(b, a);
    return [...a.types].some((type) => b.types.has(type) && this.#overlapIn(type, a, b));
  }

  #overlapIn(type: TypeName, a: Shape, b: Shape): boolean {
    switch (type) {
      case "number":
        return a.number.min <= b.number.max && b.number.min <= a.number.max;
      case "string":
        return this.#textsOverlap(a, b);
      case "array": {
        if (a.minItems > b.maxItems || b.minItems > a.maxItems) return false;
        const shared = Math.min(Math.max(a.minItems, b.minItems), 32);
        return Array.from({ length: shared }, (_, i) => i).every((i) =>
          this.#nodesOverlap(this.item(a, i), this.item(b, i)),
        );
      }
      case "object": {
        const demanded = [...a.required, ...b.required];
        return demanded.every((name) => {
          const [left, right] = [this.property(a, name), this.property(b, name)];
          return left !== undefined && right !== undefined && this.#nodesOverlap(left, right);
        });
      }
      default:
        return true;
    }
  }

  #textsOverlap(a: Shape, b: Shape): boolean {
    if (a.minLength > b.maxLength || b.minLength > a.maxLength) return false;
    const [left, right] = [this.texts(a), this.texts(b)];
    if (!left || !right) return true;
    return !isVoid(combine(left, right, a.place));
  }

  #nodesOverlap(a: readonly SchemaNode[], b: readonly SchemaNode[]): boolean {
    if (this.#depth >= MAX_COMPARED_DEPTH) return true;
    this.#depth++;
    try {
      const right = this.read(b);
      return this.read(a).some((left) => right.some((other) => this.overlap(left, other)));
    } finally {
      this.#depth--;
    }
  }
}

/** Any of some texts. */
export function textsPattern(texts: readonly string[]): Pattern {
  return {
    kind: "choice",
    of: texts.map((text) => ({
      kind: "sequence",
      parts: Array.from(text.toWellFormed(), (character) => ({ kind: "characters", set: codePointsOf(character) })),
    })),
  };
}

/** All texts. */
export const ALL_TEXTS: Automaton = { edges: [[{ set: ALL_CODE_POINTS, to: 0 }]], accepting: [true] };

function typeOf(value: unknown): TypeName | undefined {
  if (value === null) return "null";
  if (Array.isArray(value)) return "array";
  const type = typeof value;
  if (type === "number") return Number.isFinite(value) ? "number" : undefined;
  return type === "boolean" || type === "string" || type === "object" ? type : undefined;
}
