import { grammarError } from "../grammar-error.ts";
import { sameJson } from "./json-values.ts";
import { Keywords } from "./keywords.ts";
import { boundWithin, type NumberRule } from "./numbers.ts";
import { escapeKey, type SchemaDocument, type SchemaNode } from "./schema-document.ts";
import { FORMAT_PATTERNS, FREE_FORMATS, NUMBER_FORMATS } from "./string-formats.ts";

export type TypeName = "null" | "boolean" | "number" | "string" | "array" | "object";

const TYPES: readonly TypeName[] = ["object", "array", "string", "number", "boolean", "null"];

/** A pattern that strings must match: of the whole text, or found in it. */
export interface TextPattern {
  readonly source: string;
  readonly whole: boolean;
  readonly place: string;
}

export interface ArrayRule {
  readonly prefix: readonly SchemaNode[];
  readonly rest: SchemaNode;
}

export interface ObjectRule {
  readonly properties: ReadonlyMap<string, SchemaNode>;
  readonly patterns: readonly { readonly pattern: TextPattern; readonly value: SchemaNode }[];
  /** Of keys that are neither declared nor match a pattern. */
  readonly rest: SchemaNode;
}

/** What schemas that all hold together ask for, without alternatives; each part concerns values of its type alone. */
export interface Shape {
  readonly place: string;
  readonly types: ReadonlySet<TypeName>;
  /** The only values, if they are listed. */
  readonly values: readonly unknown[] | undefined;
  readonly number: NumberRule;
  readonly minLength: number;
  readonly maxLength: number;
  readonly patterns: readonly TextPattern[];
  readonly minItems: number;
  readonly maxItems: number;
  readonly arrays: readonly ArrayRule[];
  readonly minProperties: number;
  readonly maxProperties: number;
  readonly required: ReadonlySet<string>;
  readonly names: readonly SchemaNode[];
  readonly objects: readonly ObjectRule[];
}

/** Shapes that one place may have: `anyOf` under `allOf` multiply. */
const MAX_SHAPES = 500;
/** Schemas that hold at one place by way of each other. */
const MAX_PATH = 200;

/** May two shapes have a value in common? */
export type Overlap = (a: Shape, b: Shape) => boolean;

/** Reads schemas into shapes. */
export class ShapeReader {
  readonly #document: SchemaDocument;
  readonly #overlap: Overlap;
  readonly #known = new Map<string, readonly Shape[]>();

  /** `overlap` decides whether the alternatives of a `oneOf` exclude each other. */
  constructor(document: SchemaDocument, overlap: Overlap) {
    this.#document = document;
    this.#overlap = overlap;
  }

  /** The alternatives of what must hold together. Throws ERR_GRAMMAR for what cannot be enforced. */
  read(nodes: readonly SchemaNode[]): readonly Shape[] {
    const key = nodes.map(({ id }) => id).join();
    let shapes = this.#known.get(key);
    if (shapes) return shapes;
    shapes = [anything(nodes[0]?.place ?? "#")];
    for (const node of nodes) shapes = this.#applyAll(shapes, node, []);
    this.#known.set(key, shapes);
    return shapes;
  }

  #applyAll(shapes: readonly Shape[], node: SchemaNode, path: readonly SchemaNode[]): readonly Shape[] {
    const all = shapes.flatMap((shape) => this.#apply(shape, node, path));
    if (all.length > MAX_SHAPES)
      throw grammarError("too many alternatives", node.place, { expected: `at most ${MAX_SHAPES} at one place` });
    return all;
  }

  #apply(shape: Shape, node: SchemaNode, path: readonly SchemaNode[]): readonly Shape[] {
    const { schema, place } = node;
    if (schema === true) return [shape];
    if (schema === false) return [];
    if (path.includes(node)) throw grammarError("the reference leads back to itself", place);
    if (path.length >= MAX_PATH) throw grammarError("nested too deep", place);
    const inner = [...path, node];
    const keywords = new Keywords({ ...node, schema });
    const within = (key: string, i: number, one: unknown): SchemaNode =>
      this.#document.node(one, `${keywords.at(key)}/${i}`);

    const narrowed = this.#narrow(shape, keywords);
    if (narrowed.types.size === 0) return [];
    let shapes: readonly Shape[] = [narrowed];
    if (keywords.has("$ref"))
      shapes = this.#applyAll(shapes, this.#document.resolve(schema.$ref, keywords.at("$ref")), inner);
    for (const [i, one] of (keywords.list("allOf") ?? []).entries())
      shapes = this.#applyAll(shapes, within("allOf", i, one), inner);
    const any = keywords.list("anyOf");
    if (any) shapes = any.flatMap((one, i) => this.#applyAll(shapes, within("anyOf", i, one), inner));
    const exactly = keywords.list("oneOf");
    if (exactly)
      shapes = shapes.flatMap((each) => {
        const alternatives = exactly.map((one, i) => this.#apply(each, within("oneOf", i, one), inner));
        this.#checkExclusive(alternatives, keywords.at("oneOf"));
        return alternatives.flat();
      });
    if (shapes.length > MAX_SHAPES)
      throw grammarError("too many alternatives", place, { expected: `at most ${MAX_SHAPES} at one place` });
    return shapes;
  }

  #checkExclusive(alternatives: readonly (readonly Shape[])[], place: string): void {
    for (const [i, left] of alternatives.entries())
      for (const right of alternatives.slice(i + 1))
        for (const a of left)
          for (const b of right)
            if (this.#overlap(a, b))
              throw grammarError("two alternatives are not known to exclude each other", place, {
                got: `${a.place} and ${b.place}`,
                remedy: "use anyOf, or tell them apart by a required property with a const",
              });
  }

  /** The shape with a schema's own keywords. */
  #narrow(shape: Shape, keywords: Keywords): Shape {
    const { place } = keywords;
    const { types, integer } = readTypes(keywords);
    const values = readValues(keywords);
    const object = readObject(keywords, this.#document);
    const array = readArray(keywords, this.#document);
    return {
      place,
      types: new Set([...shape.types].filter((type) => types.has(type))),
      values: !values ? shape.values : (shape.values?.filter((one) => values.some((v) => sameJson(v, one))) ?? values),
      number: narrowNumber(shape.number, keywords, integer),
      minLength: Math.max(shape.minLength, keywords.least("minLength")),
      maxLength: Math.min(shape.maxLength, keywords.most("maxLength")),
      patterns: [...shape.patterns, ...readPatterns(keywords)],
      minItems: Math.max(shape.minItems, keywords.least("minItems")),
      maxItems: Math.min(shape.maxItems, keywords.most("maxItems")),
      arrays: array ? [...shape.arrays, array] : shape.arrays,
      minProperties: Math.max(shape.minProperties, keywords.least("minProperties")),
      maxProperties: Math.min(shape.maxProperties, keywords.most("maxProperties")),
      required: new Set([...shape.required, ...(keywords.strings("required") ?? [])]),
      names: keywords.has("propertyNames")
        ? [...shape.names, this.#document.node(keywords.schema.propertyNames, keywords.at("propertyNames"))]
        : shape.names,
      objects: object ? [...shape.objects, object] : shape.objects,
    };
  }
}

function anything(place: string): Shape {
  return {
    place,
    types: new Set(TYPES),
    values: undefined,
    number: { integer: false, min: -Infinity, max: Infinity, multiples: [] },
    minLength: 0,
    maxLength: Infinity,
    patterns: [],
    minItems: 0,
    maxItems: Infinity,
    arrays: [],
    minProperties: 0,
    maxProperties: Infinity,
    required: new Set(),
    names: [],
    objects: [],
  };
}

function readTypes(keywords: Keywords): { types: ReadonlySet<TypeName>; integer: boolean } {
  const given = keywords.schema.type;
  if (given === undefined) return { types: new Set(TYPES), integer: false };
  const names: readonly unknown[] = Array.isArray(given) ? given : [given];
  const types = new Set<TypeName>();
  for (const name of names) {
    const type = name === "integer" ? "number" : TYPES.find((one) => one === name);
    if (!type) return keywords.fail("type", `${TYPES.join(", ")} or integer`);
    types.add(type);
  }
  if (keywords.schema.nullable === true) types.add("null");
  return { types, integer: names.includes("integer") && !names.includes("number") };
}

function readValues(keywords: Keywords): readonly unknown[] | undefined {
  const list = keywords.list("enum");
  if (!keywords.has("const")) return list;
  const only = keywords.schema.const;
  return list && !list.some((one) => sameJson(one, only)) ? [] : [only];
}

function narrowNumber(rule: NumberRule, keywords: Keywords, integer: boolean): NumberRule {
  let { min, max } = rule;
  const low = keywords.number("minimum");
  const high = keywords.number("maximum");
  // Draft 4 says with a boolean whether minimum and maximum are within.
  const { exclusiveMinimum, exclusiveMaximum } = keywords.schema;
  const above = typeof exclusiveMinimum === "boolean" ? (exclusiveMinimum ? low : undefined) : keywords.number("exclusiveMinimum"); // biome-ignore format: one line
  const below = typeof exclusiveMaximum === "boolean" ? (exclusiveMaximum ? high : undefined) : keywords.number("exclusiveMaximum"); // biome-ignore format: one line
  if (low !== undefined) min = Math.max(min, low);
  if (high !== undefined) max = Math.min(max, high);
  if (above !== undefined) min = Math.max(min, boundWithin(above, 1));
  if (below !== undefined) max = Math.min(max, boundWithin(below, -1));
  const format = NUMBER_FORMATS.get(keywords.string("format") ?? "");
  if (format) [min, max] = [Math.max(min, format.min), Math.min(max, format.max)];
  const multiple = keywords.number("multipleOf");
  if (multiple !== undefined && multiple <= 0) keywords.fail("multipleOf", "a number above 0");
  return {
    integer: rule.integer || integer,
    min,
    max,
    multiples: multiple === undefined ? rule.multiples : [...rule.multiples, multiple],
  };
}

function readPatterns(keywords: Keywords): TextPattern[] {
  const patterns: TextPattern[] = [];
  const pattern = keywords.string("pattern");
  if (pattern !== undefined) patterns.push({ source: pattern, whole: false, place: keywords.at("pattern") });
  const format = keywords.string("format");
  if (format === undefined || FREE_FORMATS.has(format) || NUMBER_FORMATS.has(format)) return patterns;
  const source = FORMAT_PATTERNS.get(format);
  if (source === undefined) return keywords.fail("format", `one of ${[...FORMAT_PATTERNS.keys()].join(", ")}`);
  return [...patterns, { source, whole: true, place: keywords.at("format") }];
}

function readArray(keywords: Keywords, document: SchemaDocument): ArrayRule | undefined {
  const { items, additionalItems } = keywords.schema;
  // Before draft 2020-12 an array under `items` was the prefix, and `additionalItems` the rest.
  const older = Array.isArray(items);
  const prefix = older ? items : (keywords.list("prefixItems") ?? []);
  const rest = older ? additionalItems : items;
  if (prefix.length === 0 && rest === undefined) return undefined;
  const prefixKey = keywords.at(older ? "items" : "prefixItems");
  return {
    prefix: prefix.map((one, i) => document.node(one, `${prefixKey}/${i}`)),
    rest: document.node(rest ?? true, keywords.at(older ? "additionalItems" : "items")),
  };
}

function readObject(keywords: Keywords, document: SchemaDocument): ObjectRule | undefined {
  const properties = keywords.object("properties");
  const patterns = keywords.object("patternProperties");
  let rest = keywords.schema.additionalProperties;
  let restKey = "additionalProperties";
  if (keywords.has("unevaluatedProperties") && keywords.schema.unevaluatedProperties !== true) {
    for (const key of ["$ref", "allOf", "anyOf", "oneOf"])
      if (keywords.has(key)) keywords.fail("unevaluatedProperties", `no ${key} beside it`);
    if (rest === undefined) [rest, restKey] = [keywords.schema.unevaluatedProperties, "unevaluatedProperties"];
  }
  if (!properties && !patterns && rest === undefined) return undefined;
  const within = (key: string, name: string, schema: unknown): SchemaNode =>
    document.node(schema, `${keywords.at(key)}/${escapeKey(name)}`);
  return {
    properties: new Map(
      Object.entries(properties ?? {}).map(([name, schema]) => [name, within("properties", name, schema)]),
    ),
    patterns: Object.entries(patterns ?? {}).map(([source, schema]) => ({
      pattern: { source, whole: false, place: keywords.at("patternProperties") },
      value: within("patternProperties", source, schema),
    })),
    rest: document.node(rest ?? true, keywords.at(restKey)),
  };
}
