import * as v from "valibot";
import { describe, expect, it } from "vitest";
import { integer, jsonObject, object, optional } from "./fields.ts";
import { validate } from "./validate.ts";

const part = v.variant("type", [object({ type: v.literal("text"), text: v.string() })]);
const schema = object({
  name: v.pipe(v.string(), v.nonEmpty(), v.maxLength(5)),
  count: optional(integer(1, 9)),
  kind: optional(v.picklist(["a", "b"])),
  content: optional(v.union([v.string(), v.pipe(v.array(part), v.minLength(1))])),
  data: optional(jsonObject),
  nested: optional(object({ flag: optional(v.boolean()) })),
});

const cases: readonly (readonly [body: unknown, code: string, param: string | undefined])[] = [
  [[], "invalid_type", undefined],
  ["text", "invalid_type", undefined],
  [{}, "missing_required_parameter", "name"],
  [{ name: 1 }, "invalid_type", "name"],
  [{ name: null }, "invalid_type", "name"],
  [{ name: "" }, "empty_string", "name"],
  [{ name: "abcdef" }, "string_above_max_length", "name"],
  [{ name: "a", other: 1 }, "unknown_parameter", "other"],
  [{ name: "a", count: "1" }, "invalid_type", "count"],
  [{ name: "a", count: 1.5 }, "invalid_type", "count"],
  [{ name: "a", count: 0 }, "integer_below_min_value", "count"],
  [{ name: "a", count: 10 }, "integer_above_max_value", "count"],
  [{ name: "a", kind: "c" }, "invalid_value", "kind"],
  [{ name: "a", kind: 1 }, "invalid_type", "kind"],
  [{ name: "a", content: 1 }, "invalid_type", "content"],
  [{ name: "a", content: [] }, "empty_array", "content"],
  [{ name: "a", content: [{ type: "image_url" }] }, "unsupported_content", "content[0].type"],
  [{ name: "a", content: [{ type: "song" }] }, "invalid_value", "content[0].type"],
  [{ name: "a", content: [{ type: "text" }] }, "missing_required_parameter", "content[0].text"],
  [{ name: "a", content: [{ type: "text", text: "", x: 1 }] }, "unknown_parameter", "content[0].x"],
  [{ name: "a", data: [] }, "invalid_type", "data"],
  [{ name: "a", nested: [] }, "invalid_type", "nested"],
  [{ name: "a", nested: { flag: "yes" } }, "invalid_type", "nested.flag"],
  [JSON.parse('{"name": "a", "__proto__": 1}'), "unknown_parameter", "__proto__"],
  [{ name: "a", ["x".repeat(5000)]: 1 }, "unknown_parameter", "x".repeat(200)],
];

describe("the check of a request's body", () => {
  it.each(cases)("refuses %j by %s at %s", (body, code, param) => {
    expect(() => validate(schema, body)).toThrow(expect.objectContaining({ status: 400, code, param }));
  });

  it("takes null for a field that is left out", () => {
    expect(validate(schema, { name: "a", count: null, data: null })).toEqual({ name: "a", count: null, data: null });
  });

  it("says little of a value that is long", () => {
    const long = { name: "a", kind: "x".repeat(100_000) };
    expect(() => validate(schema, long)).toThrow(
      expect.objectContaining({ message: expect.stringMatching(/^.{0,500}$/s) }),
    );
  });
});
