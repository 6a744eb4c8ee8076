import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { goldenPath } from "../../../test/golden-data.ts";
import { writeSafetensors } from "../../../test/safetensors-writer.ts";
import type { ErrorCode } from "../../errors.ts";
import { memorySource } from "../memory-source.ts";
import { openFileSource } from "../node-file-source.ts";
import { tensorBytes } from "../tensor-bytes.ts";
import { type HeaderValue, parseHeaderJson } from "./header-json.ts";
import { openSafetensors } from "./open-safetensors.ts";

const open = (header: string | object, data: number | Uint8Array = 0) =>
  openSafetensors(memorySource(writeSafetensors(header, data), "test.safetensors"));
const tensor = (dtype: string, shape: unknown, from: unknown, to: unknown): object => ({
  dtype,
  shape,
  data_offsets: [from, to],
});

describe("a safetensors file", () => {
  it("gives metadata and tensors with their bytes", async () => {
    const data = Uint8Array.from({ length: 40 }, (_, i) => i);
    const header = {
      __metadata__: { format: "pt" },
      matrix: tensor("F32", [2, 3], 8, 32),
      half: tensor("BF16", [4], 0, 8),
      scalar: tensor("F64", [], 32, 40),
      empty: tensor("F32", [0, 7], 40, 40),
    };
    const file = await open(header, data);
    expect(file.metadata).toEqual(new Map([["format", "pt"]]));
    expect([...file.tensors.keys()].sort()).toEqual(["empty", "half", "matrix", "scalar"]);
    expect(file.tensors.get("matrix")).toMatchObject({ dtype: "F32", shape: [2, 3], byteLength: 24 });
    expect(await tensorBytes(file.tensors.get("matrix")!)).toEqual(data.slice(8, 32));
    expect(file.tensors.get("empty")!.byteLength).toBe(0);
  });

  it("may be empty, padded with spaces, have escapes in names, unknown fields and no metadata", async () => {
    expect((await open("{}      ")).tensors.size).toBe(0);
    expect((await open('{"__metadata__":null}')).metadata.size).toBe(0);
    const file = await open(
      `{ "a\\"\\u00e9\\n" : {"dtype":"U8", "shape":[1], "data_offsets":[0,1], "more":[{"x":-1.5e3}]} }\n`,
      1,
    );
    expect([...file.tensors.keys()]).toEqual(['a"é\n']);
    expect(
      (await open({ __proto__x: tensor("U8", [1], 0, 1), constructor: tensor("U8", [1], 1, 2) }, 2)).tensors.size,
    ).toBe(2);
    expect(
      (await open('{"__proto__":{"dtype":"U8","shape":[1],"data_offsets":[0,1]}}', 1)).tensors.has("__proto__"),
    ).toBe(true);
  });

  it("has types of less than a byte only where they fill whole bytes", async () => {
    expect((await open({ x: tensor("F4", [2, 4], 0, 4) }, 4)).tensors.get("x")!.byteLength).toBe(4);
    await expect(open({ x: tensor("F4", [3], 0, 1) }, 1)).rejects.toMatchObject({ code: "ERR_FORMAT" });
    await expect(open({ x: tensor("F6_E2M3", [4], 0, 3) }, 3)).resolves.toBeDefined();
  });
});

const one = '{"a":{"dtype":"U8","shape":[1],"data_offsets":[0,1]}}';
const MAX = Number.MAX_SAFE_INTEGER;

describe("hostile files", () => {
  it.each<[title: string, header: string | object, data: number, code: ErrorCode, message: RegExp]>([
    ["bytes after the last tensor", one, 2, "ERR_FORMAT", /after the last tensor/],
    ["a cut file", one, 0, "ERR_TRUNCATED", /cut/],
    ["a hole at the start", { a: tensor("U8", [1], 1, 2) }, 2, "ERR_FORMAT", /hole/],
    ["a hole between", { a: tensor("U8", [1], 0, 1), b: tensor("U8", [1], 2, 3) }, 3, "ERR_FORMAT", /"b": a hole/],
    ["an overlap", { a: tensor("U8", [2], 0, 2), b: tensor("U8", [2], 1, 3) }, 3, "ERR_FORMAT", /overlaps/],
    [
      "two tensors at one place",
      { a: tensor("U8", [1], 0, 1), b: tensor("U8", [1], 0, 1) },
      1,
      "ERR_FORMAT",
      /overlaps/,
    ],
    ["a length that is not the shape's", { a: tensor("F32", [2], 0, 4) }, 4, "ERR_FORMAT", /do not fit/],
    ["an end before its begin", { a: tensor("U8", [1], 1, 0) }, 1, "ERR_FORMAT", /do not fit/],
    ["an overflowing shape", { a: tensor("U8", [MAX, MAX], 0, 1) }, 1, "ERR_LIMIT", /larger than any/],
    ["an overflow that a 0 hides", { a: tensor("U8", [MAX, MAX, 0], 0, 0) }, 0, "ERR_LIMIT", /larger than any/],
    ["a negative dimension", { a: tensor("U8", [-1], 0, 1) }, 1, "ERR_FORMAT", /description/],
    [
      "a fraction as dimension",
      '{"a":{"dtype":"U8","shape":[1.0],"data_offsets":[0,1]}}',
      1,
      "ERR_FORMAT",
      /description/,
    ],
    [
      "a dimension past 2^53",
      '{"a":{"dtype":"U8","shape":[18446744073709551615],"data_offsets":[0,1]}}',
      1,
      "ERR_FORMAT",
      /./,
    ],
    ["three offsets", '{"a":{"dtype":"U8","shape":[1],"data_offsets":[0,1,1]}}', 1, "ERR_FORMAT", /two data_offsets/],
    ["no shape", '{"a":{"dtype":"U8","data_offsets":[0,1]}}', 1, "ERR_FORMAT", /description/],
    ["a tensor that is no object", '{"a":[1]}', 0, "ERR_FORMAT", /description/],
    ["an unknown dtype", { a: tensor("Q4", [1], 0, 1) }, 1, "ERR_UNSUPPORTED", /unknown dtype/],
    ["a dtype of Object's own", { a: tensor("constructor", [1], 0, 1) }, 1, "ERR_UNSUPPORTED", /unknown dtype/],
    ["a name twice", `{"a":1,"\\u0061":1}`, 0, "ERR_FORMAT", /"a" occurs twice/],
    ["a field twice", '{"a":{"dtype":"U8","dtype":"U8","shape":[1],"data_offsets":[0,1]}}', 1, "ERR_FORMAT", /twice/],
    ["metadata that is no text", '{"__metadata__":{"a":1}}', 0, "ERR_FORMAT", /__metadata__/],
    ["metadata that is no object", '{"__metadata__":"a"}', 0, "ERR_FORMAT", /__metadata__/],
    ["a header that is a list", "[]", 0, "ERR_FORMAT", /begins with/],
    ["a header that begins with a space", " {}", 0, "ERR_FORMAT", /begins with/],
    ["no header", "", 0, "ERR_FORMAT", /begins with/],
    ["text after the header's object", "{} x", 0, "ERR_FORMAT", /not valid JSON/],
    ["a NUL after the header's object", "{}\0", 0, "ERR_FORMAT", /not valid JSON/],
    ["an object that does not end", '{"a":{', 0, "ERR_FORMAT", /got the end/],
    ["a string that does not end", '{"a', 0, "ERR_FORMAT", /not valid JSON/],
    ["half a character", '{"\\ud800":1}', 0, "ERR_FORMAT", /escapes/],
    ["deep nesting", `{"a":${"[".repeat(1e6)}`, 0, "ERR_LIMIT", /nests too deep/],
  ])("%s", async (_, header, data, code, message) => {
    await expect(open(header, data)).rejects.toMatchObject({
      name: "HalfbyteError",
      code,
      message: expect.stringMatching(message),
    });
  });

  it("absurd and impossible header lengths", async () => {
    const file = (length: bigint, size = 16): Promise<unknown> => {
      const bytes = new Uint8Array(size);
      new DataView(bytes.buffer).setBigUint64(0, length, true);
      return openSafetensors(memorySource(bytes));
    };
    for (const length of [2n ** 64n - 1n, 2n ** 63n, 100_000_001n]) {
      await expect(file(length)).rejects.toMatchObject({ code: "ERR_LIMIT" });
    }
    await expect(file(9n)).rejects.toMatchObject({ code: "ERR_TRUNCATED" });
    await expect(file(100_000_000n)).rejects.toMatchObject({ code: "ERR_TRUNCATED" });
    for (let size = 0; size < 8; size++) {
      await expect(openSafetensors(memorySource(new Uint8Array(size)))).rejects.toMatchObject({
        code: "ERR_TRUNCATED",
      });
    }
    await expect(open('{"\xff"}')).rejects.toMatchObject({ code: "ERR_FORMAT" });
    const latin = writeSafetensors('{"a"}');
    latin[10] = 0xff;
    await expect(openSafetensors(memorySource(latin))).rejects.toMatchObject({
      code: "ERR_FORMAT",
      message: expect.stringMatching(/UTF-8/),
    });
  });
});

describe("header JSON", () => {
  const plain = (value: HeaderValue): unknown => {
    if (value instanceof Map) return [...value].map(([key, inner]) => [key, plain(inner)]);
    return Array.isArray(value) ? value.map(plain) : value;
  };
  const expected = (value: unknown): unknown => {
    if (Array.isArray(value)) return value.map(expected);
    if (typeof value === "object" && value !== null) return Object.entries(value).map(([k, v]) => [k, expected(v)]);
    return typeof value === "number" && !(Number.isInteger(value) && value >= 0 && !Object.is(value, -0))
      ? Number.NaN
      : value;
  };

  it("is what JSON.parse gives, for any document", () => {
    fc.assert(
      fc.property(
        fc.jsonValue({ maxDepth: 6, stringUnit: "binary" }),
        fc.constantFrom(undefined, 1, "\t", "\r\n"),
        (value, space) => {
          const text = JSON.stringify(value, undefined, space);
          const parsed = JSON.parse(text);
          if (/[0-9][eE]/.test(text) || !text.isWellFormed() || /\\ud[89a-f]/i.test(text)) return;
          expect(plain(parseHeaderJson(text, "test"))).toEqual(expected(parsed));
        },
      ),
      { numRuns: 300 },
    );
  });

  it("accepts no text that JSON.parse does not", () => {
    const alphabet = fc.constantFrom(...'{}[]",:01-+.eE \n\\utrfalsn\u0001x');
    fc.assert(
      fc.property(fc.string({ unit: alphabet, maxLength: 12 }), (text) => {
        let accepted = true;
        try {
          parseHeaderJson(text, "test");
        } catch (error) {
          accepted = false;
          expect(error).toMatchObject({ name: "HalfbyteError" });
        }
        if (accepted) expect(() => JSON.parse(text)).not.toThrow();
      }),
      { numRuns: 5000 },
    );
  });
});

describe.skipIf(!goldenPath("golden-models", "tiny"))(
  "files of the reference implementation (skipped without golden data)",
  () => {
    it.each(["llama", "gemma3", "qwen2", "mistral_swa"])("%s opens", async (name) => {
      for (const fileName of ["model.safetensors", "golden.safetensors"]) {
        const source = await openFileSource(goldenPath("golden-models", "tiny", name, fileName)!);
        const { tensors } = await openSafetensors(source);
        expect(tensors.size).toBeGreaterThan(4);
        await source.close();
      }
    });
  },
);
