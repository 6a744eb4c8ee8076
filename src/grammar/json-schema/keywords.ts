import { grammarError } from "../grammar-error.ts";
import { describe, escapeKey, isObject, type SchemaNode, type SchemaObject } from "./schema-document.ts";

/** Say nothing about which values are valid. */
const ANNOTATIONS: ReadonlySet<string> = new Set([
  "$anchor",
  "$comment",
  "$defs",
  "$id",
  "$schema",
  "contentEncoding",
  "contentMediaType",
  "contentSchema",
  "default",
  "definitions",
  "deprecated",
  "description",
  "discriminator",
  "example",
  "examples",
  "externalDocs",
  "id",
  "readOnly",
  "title",
  "writeOnly",
  "xml",
]);

const ENFORCED: ReadonlySet<string> = new Set([
  "$ref",
  "additionalItems",
  "additionalProperties",
  "allOf",
  "anyOf",
  "const",
  "enum",
  "exclusiveMaximum",
  "exclusiveMinimum",
  "format",
  "items",
  "maxItems",
  "maxLength",
  "maxProperties",
  "maximum",
  "minItems",
  "minLength",
  "minProperties",
  "minimum",
  "multipleOf",
  "nullable",
  "oneOf",
  "pattern",
  "patternProperties",
  "prefixItems",
  "properties",
  "propertyNames",
  "required",
  "type",
  "unevaluatedItems",
  "unevaluatedProperties",
  "uniqueItems",
]);

/** Keywords with a value that asks for nothing. */
const HARMLESS: Readonly<Record<string, (value: unknown, schema: SchemaObject) => boolean>> = {
  uniqueItems: (value, schema) => value === false || (typeof schema.maxItems === "number" && schema.maxItems <= 1),
  dependentRequired: isEmpty,
  dependentSchemas: isEmpty,
  dependencies: isEmpty,
  unevaluatedItems: (value) => value === true,
  unevaluatedProperties: (value) => value === true,
  minContains: (_, schema) => schema.contains === undefined,
  maxContains: (_, schema) => schema.contains === undefined,
  // biome-ignore lint/suspicious/noThenProperty: the keyword's name
  then: (_, schema) => schema.if === undefined,
  else: (_, schema) => schema.if === undefined,
  if: (_, schema) => schema.then === undefined && schema.else === undefined,
};

/** Counts past this are refused where they ask for so much; where they allow it they are no bound. */
const MAX_DEMANDED = 100_000;

/** Reads the keywords of one schema, checking their form. */
export class Keywords {
  readonly schema: SchemaObject;
  readonly place: string;

  /** Throws ERR_GRAMMAR for a keyword that is not known or cannot be enforced. */
  constructor({ schema, place }: SchemaNode & { schema: SchemaObject }) {
    this.schema = schema;
    this.place = place;
    for (const [key, value] of Object.entries(schema)) {
      if (value === undefined || ANNOTATIONS.has(key) || key.startsWith("x-")) continue;
      if (HARMLESS[key]?.(value, schema)) continue;
      if (!ENFORCED.has(key) || key === "uniqueItems" || key === "unevaluatedItems")
        throw grammarError("this keyword cannot be enforced", this.at(key), {
          remedy: "leave it out and check the answer for it",
        });
    }
  }

  at(key: string): string {
    return `${this.place}/${escapeKey(key)}`;
  }

  fail(key: string, expected: string): never {
    throw grammarError("ill-formed", this.at(key), { expected, got: describe(this.schema[key]) });
  }

  has(key: string): boolean {
    return this.schema[key] !== undefined;
  }

  number(key: string): number | undefined {
    const value = this.schema[key];
    if (value === undefined) return undefined;
    return typeof value === "number" && Number.isFinite(value) ? value : this.fail(key, "a finite number");
  }

  /** A lower bound of a count, at most what an answer can be asked for. */
  least(key: string): number {
    const value = this.#count(key) ?? 0;
    return value <= MAX_DEMANDED ? value : this.fail(key, `at most ${MAX_DEMANDED}`);
  }

  /** An upper bound of a count. */
  most(key: string): number {
    return this.#count(key) ?? Infinity;
  }

  #count(key: string): number | undefined {
    const value = this.number(key);
    return value === undefined || (Number.isInteger(value) && value >= 0) ? value : this.fail(key, "an integer from 0");
  }

  string(key: string): string | undefined {
    const value = this.schema[key];
    return value === undefined || typeof value === "string" ? value : this.fail(key, "a string");
  }

  list(key: string): readonly unknown[] | undefined {
    const value = this.schema[key];
    return value === undefined || Array.isArray(value) ? value : this.fail(key, "an array");
  }

  strings(key: string): readonly string[] | undefined {
    const list = this.list(key);
    return list?.every((one) => typeof one === "string") === false ? this.fail(key, "strings") : (list as string[]);
  }

  object(key: string): SchemaObject | undefined {
    const value = this.schema[key];
    return value === undefined || isObject(value) ? value : this.fail(key, "an object");
  }
}

function isEmpty(value: unknown): boolean {
  return isObject(value) && Object.keys(value).length === 0;
}
