export type Schema = boolean | Readonly<Record<string, unknown>>;

const text = { type: "string" } as const;
const whole = { type: "integer" } as const;

function record(properties: Record<string, Schema>, more: Record<string, unknown> = {}): Schema {
  return { type: "object", properties, required: Object.keys(properties), additionalProperties: false, ...more };
}

const scalars: Schema[] = [
  true,
  {},
  { type: "null" },
  { type: "boolean" },
  text,
  whole,
  { type: "number" },
  { type: ["string", "null"] },
  { type: ["integer", "string", "boolean"], minLength: 2, minimum: 7 },
  { type: "string", nullable: true },
  { const: null },
  { const: 'a "quoted" \\ text\n' },
  { const: { b: [1, 2.5, -3e-7], a: { c: "é😀" } } },
  { const: 1e21 },
  { enum: ["red", "green", "blue"] },
  { enum: [1, "1", true, null, 1.5, [], {}, [1, { a: 2 }]] },
  { enum: ["a", "ab", "abc", "abcd", ""], type: "string", minLength: 2 },
  { enum: Array.from({ length: 500 }, (_, i) => `choice ${i * 7919}`) },
  { enum: [3, 4, 5, 6, "7"], type: "integer", maximum: 5, exclusiveMinimum: 3 },
  {
    title: "annotated",
    description: "…",
    default: 3,
    examples: [1],
    $comment: "none",
    deprecated: true,
    type: "integer",
  },
];

const integers: Schema[] = [
  { minimum: 0 },
  { maximum: 0 },
  { minimum: 1, maximum: 1 },
  { minimum: -5, maximum: 5 },
  { minimum: 17, maximum: 4213 },
  { minimum: -4213, maximum: -17 },
  { minimum: 99, maximum: 101 },
  { exclusiveMinimum: 0, exclusiveMaximum: 10 },
  { exclusiveMinimum: -1.5, maximum: 2.5 },
  { minimum: 1e15, maximum: 2e15 },
  { minimum: 123456789012345680000 },
  { multipleOf: 5 },
  { multipleOf: 7, minimum: 100, maximum: 1000 },
  { multipleOf: 12, minimum: -60, exclusiveMaximum: 0 },
  { multipleOf: 1000 },
  { format: "int32" },
  { format: "int64", minimum: -1 },
  { allOf: [{ minimum: 3 }, { maximum: 8 }, { multipleOf: 2 }] },
].map((rule) => ({ type: "integer", ...rule }));

const numbers: Schema[] = [
  { minimum: 0 },
  { exclusiveMinimum: 0 },
  { exclusiveMinimum: 0, exclusiveMaximum: 1 },
  { minimum: -1, maximum: 1 },
  { minimum: 1.5, maximum: 2.25 },
  { minimum: 0.001, maximum: 0.0042 },
  { maximum: -12.75 },
  { minimum: -273.15, exclusiveMaximum: -273 },
  { minimum: 99.99, maximum: 100.01 },
  { exclusiveMinimum: 2.25, exclusiveMaximum: 2.5 },
  { minimum: 1e-7, maximum: 1e-6 },
  { minimum: 1e10 },
  { multipleOf: 3, minimum: -30.5, maximum: 30.5 },
  { minimum: 0.1, maximum: 0.3 },
  { exclusiveMaximum: 0 },
].map((rule) => ({ type: "number", ...rule }));

const strings: Schema[] = [
  { maxLength: 0 },
  { maxLength: 1 },
  { minLength: 3, maxLength: 3 },
  { minLength: 10 },
  { minLength: 40, maxLength: 60 },
  { maxLength: 500 },
  { pattern: "^[a-z]+$" },
  { pattern: "^[A-Z]{3}-\\d{4}$" },
  { pattern: "foo|bar" },
  { pattern: "^(?:foo|bar){2,3}$" },
  { pattern: "^(a+)+$", maxLength: 30 },
  { pattern: "\\d" },
  { pattern: "^\\w+(\\.\\w+)*$", minLength: 5, maxLength: 9 },
  { pattern: '^["\\\\/]+$' },
  { pattern: "^[\\u0000-\\u001f]{1,8}$" },
  { pattern: "^\\p{Lu}\\p{Ll}{2,8}$" },
  { pattern: "^[^\\u0000-\\u007f]{2,5}$" },
  { pattern: "^.{2,4}$" },
  { pattern: "^[\\s\\S]{2,4}$" },
  { pattern: "^😀{1,3}[日本]$" },
  { pattern: "^a|b$", maxLength: 4 },
  { pattern: "^(([a-c]x?){1,3}-?){2}$" },
  { pattern: "^\\$\\{[a-z]{1,6}\\}$" },
  { pattern: "^$" },
  { allOf: [{ pattern: "^[a-m]+$" }, { pattern: "[f-z]" }, { pattern: "^.{3,6}$" }] },
  { format: "date" },
  { format: "time" },
  { format: "date-time" },
  { format: "duration" },
  { format: "email" },
  { format: "hostname" },
  { format: "ipv4" },
  { format: "ipv6" },
  { format: "uuid" },
  { format: "uri" },
  { format: "uri-reference" },
  { format: "json-pointer" },
  { format: "byte", minLength: 4, maxLength: 16 },
  { format: "date", pattern: "^20[0-3]" },
  { format: "email", maxLength: 20 },
  { format: "uuid", pattern: "^.{14}4" },
].map((rule) => ({ type: "string", ...rule }));

const arrays: Schema[] = [
  {},
  { items: whole },
  { items: text, minItems: 1, maxItems: 3 },
  { items: { type: "boolean" }, minItems: 4, maxItems: 4 },
  { maxItems: 0 },
  { items: false },
  { prefixItems: [text, whole], items: false },
  { prefixItems: [text, whole], minItems: 2 },
  { prefixItems: [whole, { const: "x" }, { type: "null" }], items: { type: "boolean" }, minItems: 2, maxItems: 6 },
  { prefixItems: [whole], minItems: 3, maxItems: 4, items: { enum: ["a"] } },
  { prefixItems: [whole, false, text] },
  { prefixItems: [whole, text], maxItems: 1 },
  {
    items: { type: "array", items: { type: "array", items: { enum: [0, 1] }, maxItems: 2 }, maxItems: 2 },
    maxItems: 3,
  },
  {
    allOf: [{ prefixItems: [{ minimum: 3 }] }, { items: { type: "integer", maximum: 9 } }, { minItems: 2 }],
    maxItems: 4,
  },
  { items: whole, uniqueItems: false },
  { items: text, maxItems: 1, uniqueItems: true },
  { items: { type: ["integer", "null"] }, minItems: 20, maxItems: 25 },
].map((rule) => ({ type: "array", ...rule }));

const objects: Schema[] = [
  { type: "object" },
  { type: "object", additionalProperties: false },
  record({ name: text, age: whole }),
  record({ name: text, age: whole }, { required: [] }),
  record({ a: whole, b: whole, c: whole, d: whole }, { required: ["b", "d"] }),
  { type: "object", properties: { a: whole }, required: ["a"] },
  { type: "object", properties: { a: whole }, additionalProperties: text },
  { type: "object", additionalProperties: { type: "array", items: whole, maxItems: 2 }, maxProperties: 3 },
  { type: "object", required: ["x", "y"] },
  { type: "object", required: ["x"], additionalProperties: { type: "boolean" } },
  { type: "object", patternProperties: { "^n_": whole, "^s_": text }, additionalProperties: false },
  { type: "object", patternProperties: { a: { minimum: 3 }, b: { maximum: 9 } }, additionalProperties: { type: "null" } },
  { type: "object", properties: { n_1: { minimum: 5 } }, patternProperties: { "^n_": whole }, required: ["n_1"], additionalProperties: false },
  { type: "object", propertyNames: { pattern: "^[a-z]{1,5}$" }, additionalProperties: whole },
  { type: "object", propertyNames: { enum: ["one", "two"] } },
  { type: "object", propertyNames: { maxLength: 3 }, properties: { long_name: whole, ok: whole } },
  record({ a: whole, b: text, c: whole }, { required: [], minProperties: 2 }),
  record({ a: whole, b: text, c: whole }, { required: ["b"], maxProperties: 2 }),
  record({ a: whole, b: text, c: whole, d: text }, { required: ["c"], minProperties: 2, maxProperties: 3 }),
  { type: "object", properties: { a: whole, b: false }, additionalProperties: { type: "null" } },
  record({ 'key "quoted"': whole, "é\n": text, "": { type: "null" }, "a/b~c": { type: "boolean" } }),
  record({ __proto__x: whole, constructor: text, toString: whole }),
  record(Object.fromEntries(Array.from({ length: 60 }, (_, i) => [`field_${i}`, { enum: [i, null] }])), { required: ["field_3", "field_59"] }),
  { type: "object", properties: { a: whole }, unevaluatedProperties: false },
  { properties: { a: whole }, required: ["a"] },
  record({ user: record({ name: text, address: record({ street: text, zip: { type: "string", pattern: "^\\d{5}$" } }) }), tags: { type: "array", items: text, maxItems: 3 } }),
  { type: ["object", "null"], properties: { id: { type: "string", format: "uuid" } }, required: ["id"], additionalProperties: false },
  { type: "object", minProperties: 1, required: ["a"], maxProperties: 1 },
]; // biome-ignore format: a table

const combined: Schema[] = [
  { anyOf: [whole, text] },
  { anyOf: [{ type: "string", maxLength: 3 }, { type: "string", minLength: 5, pattern: "^z" }] },
  { anyOf: [{ minimum: 10 }, { maximum: 0 }], type: "integer" },
  { oneOf: [text, whole, { type: "null" }] },
  { oneOf: [{ type: "integer", maximum: 0 }, { type: "integer", minimum: 1 }] },
  { oneOf: [{ const: "a" }, { const: "b" }, { enum: ["c", 4] }] },
  { oneOf: [{ type: "string", pattern: "^a" }, { type: "string", pattern: "^b" }] },
  { oneOf: [{ type: "array", minItems: 3 }, { type: "array", maxItems: 2, items: whole }] },
  { oneOf: [record({ kind: { const: "circle" }, radius: whole }), record({ kind: { const: "box" }, size: { type: "array", prefixItems: [whole, whole], minItems: 2, items: false } })] },
  { type: "object", required: ["kind"], properties: { kind: text }, oneOf: [{ properties: { kind: { const: "x" }, x: whole } }, { properties: { kind: { enum: ["y", "z"] } }, required: ["y"] }] },
  { oneOf: [record({ a: whole }), record({ b: whole })] },
  { allOf: [{ type: "object", properties: { a: whole }, required: ["a"] }, { properties: { b: text }, required: ["b"] }] },
  { allOf: [{ type: "object", properties: { a: { minimum: 2 } } }, { properties: { a: { type: "integer", maximum: 4 } }, required: ["a"], additionalProperties: false }] },
  { allOf: [{ anyOf: [whole, text] }, { anyOf: [text, { type: "null" }] }] },
  { allOf: [{ enum: [1, 2, 3, "a"] }, { enum: [2, 3, 4, "a"] }, { not: undefined, type: "integer" }] },
  { allOf: [true, {}, { type: "boolean" }] },
  { anyOf: [false, { type: "boolean" }] },
  { type: "object", properties: { a: { anyOf: [{ $ref: "#/$defs/n" }, { type: "null" }] } }, required: ["a"], $defs: { n: { type: "number", minimum: 3, maximum: 4 } } },
  { anyOf: [{ properties: { a: whole }, required: ["a"] }, { properties: { b: whole }, required: ["b"] }], type: "object" },
  { type: "array", items: { anyOf: [record({ t: { const: 1 }, v: text }), record({ t: { const: 2 }, v: whole })] }, minItems: 2, maxItems: 4 },
]; // biome-ignore format: a table

const recursive: Schema[] = [
  record({ value: whole, next: { anyOf: [{ $ref: "#" }, { type: "null" }] } }),
  record({ name: text, children: { type: "array", items: { $ref: "#" }, maxItems: 3 } }),
  { $ref: "#/$defs/node", $defs: { node: record({ id: whole, left: { $ref: "#/$defs/node" }, right: { $ref: "#/$defs/node" } }, { required: ["id"] }) } },
  { $defs: { a: { type: "array", items: { $ref: "#/$defs/b" } }, b: record({ a: { $ref: "#/$defs/a" } }, { required: [] }) }, $ref: "#/$defs/a" },
  { definitions: { positive: { type: "integer", exclusiveMinimum: 0 } }, type: "array", items: { $ref: "#/definitions/positive" }, minItems: 1, maxItems: 4 },
  { $defs: { t: { $anchor: "leaf", enum: ["x", "y"] } }, type: "array", items: { $ref: "#leaf" }, maxItems: 3 },
  { $id: "https://example.com/tree", $defs: { s: text }, type: "object", properties: { a: { $ref: "https://example.com/tree#/$defs/s" } }, additionalProperties: { $ref: "#/$defs/s" } },
  { $ref: "#/$defs/a~1b%20c", $defs: { "a/b c": { type: "integer", minimum: 5, maximum: 6 } } },
  { $defs: { expression: { anyOf: [{ type: "number" }, record({ op: { enum: ["+", "-", "*"] }, args: { type: "array", items: { $ref: "#/$defs/expression" }, minItems: 2, maxItems: 2 } })] } }, $ref: "#/$defs/expression" },
  { $defs: { base: { type: "object", properties: { id: whole }, required: ["id"] } }, allOf: [{ $ref: "#/$defs/base" }], properties: { name: text }, required: ["name"] },
  { $defs: { short: { maxLength: 4 } }, type: "string", $ref: "#/$defs/short", pattern: "^[aeiou]+$" },
  { type: ["array", "integer"], items: { $ref: "#" }, maxItems: 2 },
  { type: "object", properties: { a: whole, b: { $ref: "#/properties/a" } }, required: ["a", "b"] },
  { anyOf: [{ type: "array", items: { $ref: "#/anyOf/1" } }, record({ k: { type: "boolean" } })] },
]; // biome-ignore format: a table

const real: Schema[] = [
  record({ city: text, unit: { enum: ["celsius", "fahrenheit"] } }, { required: ["city"] }),
  record({ title: { type: "string", maxLength: 40 }, year: { type: "integer", minimum: 1888, maximum: 2100 }, genres: { type: "array", items: { enum: ["drama", "comedy", "horror"] }, minItems: 1, maxItems: 3 }, rating: { type: "number", minimum: 0, maximum: 10 } }),
  record({ invoice: { type: "string", pattern: "^INV-\\d{6}$" }, issued: { type: "string", format: "date" }, lines: { type: "array", minItems: 1, maxItems: 3, items: record({ sku: { type: "string", pattern: "^[A-Z]{2}\\d{2}$" }, quantity: { type: "integer", minimum: 1, maximum: 99 }, price: { type: "number", minimum: 0, maximum: 9999.99 } }) }, paid: { type: "boolean" } }),
  record({ steps: { type: "array", items: record({ explanation: text, output: text }), maxItems: 4 }, final_answer: text }),
  record({ type: { const: "FeatureCollection" }, features: { type: "array", maxItems: 2, items: record({ type: { const: "Feature" }, geometry: record({ type: { const: "Point" }, coordinates: { type: "array", prefixItems: [{ type: "number", minimum: -180, maximum: 180 }, { type: "number", minimum: -90, maximum: 90 }], items: false, minItems: 2 } }), properties: { type: ["object", "null"] } }) } }),
  record({ host: { type: "string", format: "hostname" }, port: { type: "integer", minimum: 1, maximum: 65535 }, tls: { type: "boolean" }, tags: { type: "object", additionalProperties: { type: "string", maxLength: 10 }, propertyNames: { pattern: "^[a-z][a-z0-9_]*$" } } }),
  record({ sentiment: { enum: ["positive", "neutral", "negative"] }, confidence: { type: "number", minimum: 0, maximum: 1 } }),
  record({ entities: { type: "array", maxItems: 4, items: { oneOf: [record({ type: { const: "person" }, name: text }), record({ type: { const: "place" }, name: text, country: { type: "string", pattern: "^[A-Z]{2}$" } })] } } }),
  record({ email: { type: "string", format: "email" }, website: { type: ["string", "null"], format: "uri", maxLength: 60 }, born: { type: "string", format: "date-time" } }),
  record({ board: { type: "array", minItems: 3, maxItems: 3, items: { type: "array", minItems: 3, maxItems: 3, items: { enum: ["X", "O", null] } } }, winner: { enum: ["X", "O", "draw", null] } }),
  { type: "array", maxItems: 3, items: record({ ip: { anyOf: [{ type: "string", format: "ipv4" }, { type: "string", format: "ipv6" }] }, at: { type: "string", format: "time" } }) },
  record({ query: text, filters: record({ from: { type: "string", format: "date" }, limit: { type: "integer", minimum: 1, maximum: 100, multipleOf: 10 } }, { required: [] }) }, { required: ["query"] }),
]; // biome-ignore format: a table

/** Objects of several depths and widths, and values in them, made of one another. */
function grown(): Schema[] {
  const leaves = [...integers.slice(0, 4), ...numbers.slice(0, 3), ...strings.slice(1, 8), ...scalars.slice(12, 17)];
  return Array.from({ length: 24 }, (_, i) => {
    const leaf = (k: number): Schema => leaves[(i * 7 + k * 3) % leaves.length]!;
    const inner = record({ [`k${i}`]: leaf(0), other: leaf(1) }, i % 2 ? { required: ["other"] } : {});
    const list = { type: "array", items: i % 3 ? inner : leaf(2), minItems: i % 4, maxItems: 2 + (i % 4) };
    const outer = record({ list, one: inner, maybe: { anyOf: [leaf(3), { type: "null" }] } }, { required: ["list"] });
    return i % 5 === 0 ? { type: "object", properties: { outer }, additionalProperties: leaf(4) } : outer;
  });
}

/** Two hundred and some schemas, from simple to nasty, by family. */
export const schemas: readonly (readonly [string, Schema])[] = Object.entries({
  scalars,
  integers,
  numbers,
  strings,
  arrays,
  objects,
  combined,
  recursive,
  real,
  grown: grown(),
}).flatMap(([family, members]) => members.map((schema, i) => [`${family} ${i}`, schema] as const));
