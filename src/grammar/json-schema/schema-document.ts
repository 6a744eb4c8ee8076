import { grammarError } from "../grammar-error.ts";

export type SchemaObject = Readonly<Record<string, unknown>>;

/** A schema within a document. */
export interface SchemaNode {
  readonly id: number;
  readonly schema: SchemaObject | boolean;
  /** A JSON pointer from the root. */
  readonly place: string;
}

/** Schemas that one document may have in use. */
const MAX_NODES = 20_000;

/** A schema's document: gives its subschemas places, and finds what `$ref` names. */
export class SchemaDocument {
  readonly root: SchemaNode;
  readonly #nodes = new Map<SchemaObject, SchemaNode>();
  readonly #true: SchemaNode;
  readonly #false: SchemaNode;
  #anchors: Map<string, { schema: unknown; place: string }> | undefined;

  /** Throws ERR_GRAMMAR for a root that is no schema. */
  constructor(root: unknown) {
    this.#true = { id: 0, schema: true, place: "#" };
    this.#false = { id: 1, schema: false, place: "#" };
    this.root = this.node(root, "#");
  }

  /** The schema at a place. Throws ERR_GRAMMAR if it is none. */
  node(schema: unknown, place: string): SchemaNode {
    if (schema === true) return this.#true;
    if (schema === false) return this.#false;
    if (!isObject(schema))
      throw grammarError("not a schema", place, { expected: "an object or a boolean", got: describe(schema) });
    let node = this.#nodes.get(schema);
    if (!node) {
      if (this.#nodes.size >= MAX_NODES)
        throw grammarError("the schema is too large", place, { expected: `at most ${MAX_NODES} subschemas` });
      node = { id: this.#nodes.size + 2, schema, place };
      this.#nodes.set(schema, node);
    }
    return node;
  }

  /** What a `$ref` names. Throws ERR_GRAMMAR for what is not in this document. */
  resolve(reference: unknown, place: string): SchemaNode {
    if (typeof reference !== "string") throw grammarError("not a reference", place, { got: describe(reference) });
    const id = isObject(this.root.schema) ? this.root.schema.$id : undefined;
    const own = typeof id === "string" && reference.startsWith(`${id}#`) ? reference.slice(id.length) : reference;
    if (!own.startsWith("#"))
      throw grammarError("the reference leaves the document", place, {
        got: JSON.stringify(reference.slice(0, 80)),
        remedy: "put what it names under $defs",
      });
    const fragment = decodeFragment(own.slice(1), place);
    if (fragment === "") return this.root;
    if (!fragment.startsWith("/")) {
      const target = this.#findAnchors().get(fragment);
      if (!target) throw grammarError("there is no such anchor", place, { got: JSON.stringify(fragment.slice(0, 80)) });
      return this.node(target.schema, target.place);
    }
    let at: unknown = this.root.schema;
    for (const part of fragment.slice(1).split("/")) {
      const key = part.replaceAll("~1", "/").replaceAll("~0", "~");
      const inside = (isObject(at) || Array.isArray(at)) && Object.hasOwn(at, key);
      if (!inside)
        throw grammarError("the reference names nothing", place, { got: JSON.stringify(reference.slice(0, 80)) });
      at = (at as SchemaObject)[key];
    }
    return this.node(at, `#${fragment}`);
  }

  #findAnchors(): Map<string, { schema: unknown; place: string }> {
    if (this.#anchors) return this.#anchors;
    const anchors = new Map<string, { schema: unknown; place: string }>();
    const seen = new Set<unknown>();
    const open: { value: unknown; place: string }[] = [{ value: this.root.schema, place: "#" }];
    for (let next = open.pop(); next; next = open.pop()) {
      const { value, place } = next;
      if (typeof value !== "object" || value === null || seen.has(value)) continue;
      seen.add(value);
      if (isObject(value) && typeof value.$anchor === "string") anchors.set(value.$anchor, { schema: value, place });
      for (const [key, child] of Object.entries(value))
        open.push({ value: child, place: `${place}/${escapeKey(key)}` });
    }
    this.#anchors = anchors;
    return anchors;
  }
}

export function isObject(value: unknown): value is SchemaObject {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

export function escapeKey(key: string): string {
  return key.replaceAll("~", "~0").replaceAll("/", "~1");
}

export function describe(value: unknown): string {
  const text = typeof value === "object" ? (JSON.stringify(value) ?? "") : String(value);
  return text.slice(0, 80);
}

function decodeFragment(fragment: string, place: string): string {
  try {
    return decodeURIComponent(fragment);
  } catch (cause) {
    throw grammarError("the reference is not well formed", place, { cause });
  }
}
