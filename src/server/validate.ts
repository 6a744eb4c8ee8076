import * as v from "valibot";
import { ApiError } from "./api-error.ts";

/** Checks a request's body. Throws 400 with OpenAI's codes, and the path of the first field that is wrong as `param`. */
export function validate<T>(schema: v.GenericSchema<unknown, T>, body: unknown): T {
  if (typeof body !== "object" || body === null || Array.isArray(body))
    throw new ApiError(
      400,
      "invalid_type",
      `Invalid type for the body: expected an object, but got ${describe(body)}.`,
    );
  const result = v.safeParse(schema, body, { abortEarly: true });
  if (result.success) return result.output;
  throw refusal(innermost({ issue: result.issues[0], path: [] }));
}

interface Found {
  readonly issue: v.BaseIssue<unknown>;
  readonly path: readonly (string | number)[];
}

/** Of alternatives that all failed, what is wrong inside the one that the value resembles most: it got deepest, or furthest in an array. */
function innermost({ issue, path: before }: Found): Found {
  const path = [...before, ...(issue.path ?? []).map(({ key }) => key as string | number)];
  let best: Found = { issue, path };
  for (const each of issue.issues ?? []) {
    const found = innermost({ issue: each, path });
    if (found.path.length > best.path.length || isFurther(found.path, best.path)) best = found;
  }
  return best;
}

function isFurther(path: Found["path"], than: Found["path"]): boolean {
  const [index, other] = [path.at(-1), than.at(-1)];
  return path.length === than.length && typeof index === "number" && typeof other === "number" && index > other;
}

/** Content parts that other APIs and models know. */
const MEDIA = /^"(image|image_url|input_image|input_audio|audio|file|input_file|document|video_url)"$/;

/** Longer paths and values are cut: the client sent them and knows them. */
const SHOWN = 200;

function refusal({ issue, path }: Found): ApiError {
  const param = pathText(path);
  const name = param === undefined ? "the body" : `'${param}'`;
  const refuse = (code: string, message: string): ApiError => new ApiError(400, code, message, { param });
  const { input } = issue;
  const received = issue.received.slice(0, SHOWN);
  const expected = issue.expected?.replace(/^\((.*)\)$/, "$1").replaceAll(" | ", ", ") ?? "";
  switch (issue.type) {
    case "strict_object":
      if (issue.expected === "never") return refuse("unknown_parameter", `Unknown parameter: ${name}.`);
      if (received === "undefined") return refuse("missing_required_parameter", `Missing required parameter: ${name}.`);
      break;
    case "variant":
    case "picklist":
    case "literal":
      if (received === "undefined") return refuse("missing_required_parameter", `Missing required parameter: ${name}.`);
      if (MEDIA.test(received))
        return refuse("unsupported_content", `Invalid value for ${name}: ${received}. Models read text only here.`);
      if (received.startsWith('"'))
        return refuse("invalid_value", `Invalid value for ${name}: ${received}. Supported values are: ${expected}.`);
      break;
    case "integer":
      return refuse("invalid_type", `Invalid type for ${name}: expected an integer, but got a decimal number instead.`);
    case "min_value":
    case "max_value": {
      const side = issue.type === "min_value" ? "below_min" : "above_max";
      const kind = Number.isInteger(input) ? "integer" : "decimal";
      return refuse(`${kind}_${side}_value`, `Invalid ${name}: expected a value ${expected}, but got ${received}.`);
    }
    case "min_length":
    case "non_empty":
      return Array.isArray(input)
        ? refuse("empty_array", `Invalid ${name}: the array is empty, and needs an element.`)
        : refuse("empty_string", `Invalid ${name}: the string is empty.`);
    case "max_length":
    case "max_entries": {
      const kind = typeof input === "string" ? "string" : Array.isArray(input) ? "array" : "object";
      return refuse(`${kind}_above_max_length`, `Invalid ${name}: its length must be ${expected}, but is ${received}.`);
    }
    case "regex":
    case "check":
      return refuse("invalid_value", `Invalid ${name}: ${issue.message}`);
  }
  const wanted = expected.toLowerCase() || "another";
  return refuse("invalid_type", `Invalid type for ${name}: expected ${wanted}, but got ${describe(input)} instead.`);
}

/** `messages[0].content`, or undefined for the body itself. */
function pathText(path: readonly (string | number)[]): string | undefined {
  if (path.length === 0) return undefined;
  const text = path.map((key, i) => (typeof key === "number" ? `[${key}]` : i > 0 ? `.${key}` : key)).join("");
  return text.slice(0, SHOWN);
}

function describe(value: unknown): string {
  if (value === null || value === undefined) return String(value);
  if (Array.isArray(value)) return "an array";
  if (typeof value === "object") return "an object";
  return typeof value === "number" && Number.isInteger(value) ? "an integer" : `a ${typeof value}`;
}
