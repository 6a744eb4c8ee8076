import { describe, expect, it } from "vitest";
import {
  ByteWriter,
  type WrittenGguf,
  type WrittenTensor,
  type WrittenValue,
  writeGguf,
} from "../../../test/gguf-writer.ts";
import { goldenPath } from "../../../test/golden-data.ts";
import { gemmaPath, smollm2Path } from "../../../test/models.ts";
import type { ErrorCode } from "../../errors.ts";
import type { ByteSource } from "../byte-source.ts";
import { joinedSource } from "../joined-source.ts";
import { memorySource } from "../memory-source.ts";
import { openFileSource } from "../node-file-source.ts";
import { tensorBytes } from "../tensor-bytes.ts";
import { decodeUtf8 } from "../utf8.ts";
import { FIRST_WINDOW_BYTES } from "./limits.ts";
import { openGguf, openGgufByName, splitFileNames } from "./open-gguf.ts";

const F32 = 0;
const Q4_0 = 2;
const open = (file: WrittenGguf) => openGguf(memorySource(writeGguf(file), "test.gguf"));
const u32 = (value: number): WrittenValue => ({ type: "u32", value });
const text = (value: string): WrittenValue => ({ type: "string", value });
const strings = (value: string[]): WrittenValue => ({ type: "array", of: "string", value });

async function expectError(promise: Promise<unknown>, code: ErrorCode, message: RegExp): Promise<void> {
  await expect(promise).rejects.toMatchObject({ name: "HalfbyteError", code, message: expect.stringMatching(message) });
}

describe("metadata", () => {
  const all: [string, WrittenValue, number | bigint | boolean][] = [
    ["a.u8", { type: "u8", value: 255 }, 255],
    ["a.i8", { type: "i8", value: -128 }, -128],
    ["a.u16", { type: "u16", value: 65535 }, 65535],
    ["a.i16", { type: "i16", value: -32768 }, -32768],
    ["a.u32", { type: "u32", value: 4294967295 }, 4294967295],
    ["a.i32", { type: "i32", value: -2147483648 }, -2147483648],
    ["a.f32", { type: "f32", value: 0.1 }, Math.fround(0.1)],
    ["a.bool", { type: "bool", value: true }, true],
    ["a.u64", { type: "u64", value: 2 ** 53 - 1 }, 2 ** 53 - 1],
    ["a.i64", { type: "i64", value: -5 }, -5],
    ["a.f64", { type: "f64", value: 0.1 }, 0.1],
    ["a.huge", { type: "u64", value: 2n ** 64n - 1n }, 2n ** 64n - 1n],
  ];

  it.each([2, 3])("reads every type of value, version %i", async (version) => {
    const entries = all.map(([key, value]) => [key, value] as const);
    const { metadata, version: found } = await open({ version, entries });
    expect(found).toBe(version);
    for (const [key, { type }, value] of all) expect(metadata.entry(key)).toEqual({ key, type, value });
    expect([...metadata].map((entry) => entry.key)).toEqual(all.map(([key]) => key));
  });

  it("reads arrays of every type on demand", async () => {
    const entries = all.map(([key, { type }, value]): [string, WrittenValue] => [
      key,
      { type: "array", of: type, value: [value, value] },
    ]);
    const { metadata } = await open({ entries });
    for (const [key, , value] of all) {
      expect(await metadata.array(key)).toEqual([value, value]);
      if (typeof value === "bigint") await expectError(metadata.numbers(key), "ERR_LIMIT", /2\^53/);
      else expect([...(await metadata.numbers(key))]).toEqual([Number(value), Number(value)]);
    }
    expect(await metadata.numbers("a.i8")).toBeInstanceOf(Int8Array);
    expect(await metadata.numbers("a.f32")).toBeInstanceOf(Float32Array);
  });

  it("reads text of any script, empty text and empty arrays", async () => {
    const words = [
      "",
      "a",
      "\uFEFF",
      "Ġthe",
      "日本語",
      "🦙🦙",
      "\u0000",
      "<|im_start|> of more than thirteen characters",
      "é",
    ];
    const { metadata } = await open({
      entries: [
        ["words", strings(words)],
        ["none", strings([])],
        ["one", text("x\uFEFF🦙")],
      ],
    });
    expect(await metadata.strings("words")).toEqual(words);
    expect(await metadata.array("words")).toEqual(words);
    expect(await metadata.strings("none")).toEqual([]);
    const { bytes, offsets } = await metadata.stringTable("words");
    expect(words.map((_, i) => decodeUtf8(bytes.subarray(offsets[i], offsets[i + 1]), ""))).toEqual(words);
    expect(bytes.length).toBe(offsets.at(-1));
    expect(await metadata.stringTable("none")).toEqual({ bytes: new Uint8Array(0), offsets: new Uint32Array(1) });
    expect(metadata.string("one")).toBe("x\uFEFF🦙");
  });

  it("reads arrays of arrays", async () => {
    const nested: WrittenValue = {
      type: "array",
      of: "array",
      value: [{ type: "array", of: "u8", value: [1, 2] }, strings(["x"]), { type: "array", of: "u8", value: [] }],
    };
    const { metadata } = await open({
      entries: [
        ["nested", nested],
        ["after", u32(7)],
      ],
    });
    expect(await metadata.array("nested")).toEqual([[1, 2], ["x"], []]);
    expect(metadata.integer("after")).toBe(7);
  });

  it("reads headers larger than its window, with values across its edges", async () => {
    const long = Array.from({ length: 60_000 }, (_, i) => `token ${i}`);
    const large = "x".repeat(FIRST_WINDOW_BYTES * 3);
    const entries: [string, WrittenValue][] = [
      ["large", text(large)],
      ["long", strings(long)],
    ];
    for (let i = 0; i < 5000; i++) entries.push([`key.${i}`, text(`value ${i}`)]);
    const { metadata } = await open({ entries, tensors: [{ name: "t", type: F32, shape: [4] }] });
    expect(metadata.string("large")).toBe(large);
    expect(await metadata.strings("long")).toEqual(long);
    for (let i = 0; i < 5000; i++) expect(metadata.string(`key.${i}`)).toBe(`value ${i}`);
  });

  it("says what is absent, of another type, not UTF-8 or not an integer, and takes a fallback", async () => {
    const { metadata } = await open({
      entries: [
        ["s", text("x")],
        ["n", { type: "f32", value: 1.5 }],
        ["latin", { type: "string", value: Uint8Array.of(0xe9) }],
        ["cut", { type: "array", of: "string", value: [Uint8Array.of(0xc3), Uint8Array.of(0xa9)] }],
        ["huge", { type: "u64", value: 2n ** 60n }],
      ],
    });
    expect(metadata.string("absent", undefined)).toBeUndefined();
    expect(metadata.integer("absent", 3)).toBe(3);
    expect(metadata.number("n")).toBe(1.5);
    expect(() => metadata.string("absent")).toThrow(/ERR_MISSING|no such key/);
    expect(() => metadata.string("n")).toThrow(/expected a string, got f32/);
    expect(() => metadata.number("s")).toThrow(/expected a number, got string/);
    expect(() => metadata.boolean("s")).toThrow(/expected a boolean/);
    expect(() => metadata.integer("n")).toThrow(/not an integer/);
    expect(() => metadata.integer("huge")).toThrow(/2\^53/);
    expect(() => metadata.string("latin")).toThrow(/UTF-8/);
    await expectError(metadata.strings("cut"), "ERR_FORMAT", /UTF-8/);
    await expectError(metadata.strings("s"), "ERR_FORMAT", /expected an array/);
    await expectError(metadata.stringTable("s"), "ERR_FORMAT", /expected an array/);
    await expectError(metadata.numbers("cut"), "ERR_FORMAT", /expected an array of numbers/);
    await expectError(metadata.strings("absent"), "ERR_MISSING", /no such key/);
  });
});

describe("tensors", () => {
  it("gives name, type, shape and bytes, with any alignment", async () => {
    for (const alignment of [1, 8, 32, 64, 4096]) {
      const data = Uint8Array.from({ length: 2 * 18 * 3 }, (_, i) => i);
      const { tensors } = await open({
        alignment,
        entries: [["general.alignment", u32(alignment)]],
        tensors: [
          { name: "norm", type: F32, shape: [3] },
          { name: "matrix", type: Q4_0, shape: [64, 3], data },
          { name: "experts", type: F32, shape: [2, 3, 4] },
        ],
      });
      const matrix = tensors.get("matrix")!;
      expect(matrix).toMatchObject({ name: "matrix", shape: [64, 3], K: 64, N: 3, byteLength: 108 });
      expect(matrix.type.name).toBe("Q4_0");
      expect(matrix.offset % alignment).toBe(0);
      expect(await tensorBytes(matrix)).toEqual(data);
      expect(tensors.get("experts")).toMatchObject({ K: 2, N: 12, byteLength: 96 });
    }
  });

  it("may stand in any order and leave holes", async () => {
    const { tensors } = await open({
      tensors: [
        { name: "b", type: F32, shape: [8], offset: 64, data: new Uint8Array(96) },
        { name: "a", type: F32, shape: [8], offset: 0, data: new Uint8Array(0) },
      ],
    });
    expect([...tensors.keys()]).toEqual(["b", "a"]);
  });
});

it("a file that was cut into raw pieces opens as one source", async () => {
  const data = Uint8Array.from({ length: 400 }, (_, i) => i);
  const bytes = writeGguf({
    entries: [["k", strings(["a", "bc"])]],
    tensors: [{ name: "t", type: F32, shape: [100], data }],
  });
  const cuts = [0, 5, 90, bytes.byteLength - 250, bytes.byteLength];
  const pieces = cuts.slice(1).map((end, i) => memorySource(bytes.subarray(cuts[i], end)));
  const file = await openGguf(joinedSource(pieces));
  expect(await file.metadata.strings("k")).toEqual(["a", "bc"]);
  expect(await tensorBytes(file.tensors.get("t")!)).toEqual(data);
});

const one: WrittenTensor = { name: "t", type: F32, shape: [8] };
const deep = (levels: number): WrittenValue =>
  levels === 0 ? { type: "array", of: "u8", value: [1] } : { type: "array", of: "array", value: [deep(levels - 1)] };

describe("hostile files", () => {
  const cases: [title: string, file: WrittenGguf, code: ErrorCode, message: RegExp][] = [
    ["wrong magic", { magic: "GGML" }, "ERR_FORMAT", /not a GGUF/],
    ["version 1", { version: 1 }, "ERR_UNSUPPORTED", /version 1/],
    ["version 4", { version: 4 }, "ERR_UNSUPPORTED", /version 4/],
    ["big-endian", { bigEndian: true }, "ERR_UNSUPPORTED", /big-endian/],
    ["2^63 tensors", { tensorCount: 2n ** 63n }, "ERR_LIMIT", /absurd number of tensors/],
    ["2^64 − 1 keys", { keyCount: 2n ** 64n - 1n }, "ERR_LIMIT", /absurd number of keys/],
    ["more tensors than bytes", { tensorCount: 60_000 }, "ERR_TRUNCATED", /number of tensors/],
    ["more keys than bytes", { keyCount: 10_000 }, "ERR_TRUNCATED", /number of keys/],
    ["an empty key", { entries: [["", u32(1)]] }, "ERR_FORMAT", /empty key/],
    ["a key that is too long", { entries: [["k".repeat(65_536), u32(1)]] }, "ERR_LIMIT", /length of a key/],
    [
      "a key twice",
      {
        entries: [
          ["k", u32(1)],
          ["k", u32(1)],
        ],
      },
      "ERR_FORMAT",
      /"k" occurs twice/,
    ],
    ["arrays nested too deep", { entries: [["k", deep(4)]] }, "ERR_LIMIT", /nest too deep/],
    ["alignment 0", { entries: [["general.alignment", u32(0)]] }, "ERR_FORMAT", /alignment.*got u32 0/],
    ["alignment 24", { entries: [["general.alignment", u32(24)]] }, "ERR_FORMAT", /power of two/],
    ["alignment as text", { entries: [["general.alignment", text("32")]] }, "ERR_FORMAT", /got string/],
    ["a tensor twice", { tensors: [one, one] }, "ERR_FORMAT", /"t" occurs twice/],
    ["an empty tensor name", { tensors: [{ ...one, name: "" }] }, "ERR_FORMAT", /empty tensor name/],
    ["a tensor name too long", { tensors: [{ ...one, name: "t".repeat(65) }] }, "ERR_LIMIT", /tensor name/],
    ["an unknown tensor type", { tensors: [{ ...one, type: 99 }] }, "ERR_UNSUPPORTED", /unknown tensor type/],
    ["a withdrawn tensor type", { tensors: [{ ...one, type: 4 }] }, "ERR_UNSUPPORTED", /Q4_2 was withdrawn/],
    ["no dimensions", { tensors: [{ ...one, shape: [] }] }, "ERR_FORMAT", /number of dimensions/],
    ["five dimensions", { tensors: [{ ...one, shape: [1, 1, 1, 1, 1] }] }, "ERR_LIMIT", /number of dimensions/],
    ["a dimension of 0", { tensors: [{ ...one, shape: [8, 0] }] }, "ERR_FORMAT", /unusable dimension/],
    ["a negative dimension", { tensors: [{ ...one, shape: [8, -1] }] }, "ERR_FORMAT", /unusable dimension/],
    ["a dimension past 2^53", { tensors: [{ ...one, shape: [2n ** 60n] }] }, "ERR_LIMIT", /unusable dimension/],
    ["a product past 2^64", { tensors: [{ ...one, shape: [2 ** 32, 2 ** 32, 4] }] }, "ERR_LIMIT", /larger than any/],
    ["a product of 0 mod 2^64", { tensors: [{ ...one, shape: [2 ** 32, 2 ** 32] }] }, "ERR_LIMIT", /larger than any/],
    [
      "rows that are not whole blocks",
      { tensors: [{ ...one, type: Q4_0, shape: [33, 2] }] },
      "ERR_FORMAT",
      /whole blocks/,
    ],
    ["a misaligned tensor", { tensors: [{ ...one, offset: 8 }] }, "ERR_FORMAT", /misaligned/],
    ["an offset past the end", { tensors: [{ ...one, offset: 4096 }] }, "ERR_TRUNCATED", /after the file/],
    ["an offset past 2^53", { tensors: [{ ...one, offset: 2n ** 63n }] }, "ERR_LIMIT", /larger than any/],
    ["a tensor that is cut", { tensors: [one], cut: 1 }, "ERR_TRUNCATED", /after the file.*download/],
    [
      "overlapping tensors",
      {
        tensors: [
          { ...one, shape: [16] },
          { ...one, name: "u", offset: 32 },
        ],
      },
      "ERR_FORMAT",
      /overlap/,
    ],
    ["tensors at one place", { tensors: [one, { ...one, name: "u", offset: 0 }] }, "ERR_FORMAT", /overlap/],
  ];
  it.each(cases)("%s", async (_, file, code, message) => {
    await expectError(open(file), code, message);
  });

  /** A file of one key whose type and value are raw bytes. */
  const rawEntry = (write: (writer: ByteWriter) => void): Promise<unknown> => {
    const writer = new ByteWriter().raw(new TextEncoder().encode("GGUF")).u32(3).u64(0).u64(1).string("k");
    write(writer);
    return openGguf(memorySource(writer.bytes));
  };
  it.each<[string, (w: ByteWriter) => void, ErrorCode, RegExp]>([
    ["an unknown value type", (w) => w.u32(13).u64(0), "ERR_FORMAT", /unknown value type/],
    ["an unknown element type", (w) => w.u32(9).u32(77).u64(0), "ERR_FORMAT", /unknown value type/],
    ["a boolean of 2", (w) => w.u32(7).u8(2), "ERR_FORMAT", /not a boolean/],
    ["a string longer than the file", (w) => w.u32(8).u64(1000).u8(1), "ERR_TRUNCATED", /past the end/],
    ["a string of 2^63 bytes", (w) => w.u32(8).u64(2n ** 63n), "ERR_LIMIT", /absurd string length/],
    [
      "an array of 2^63 elements",
      (w) =>
        w
          .u32(9)
          .u32(0)
          .u64(2n ** 63n),
      "ERR_LIMIT",
      /absurd array length/,
    ],
    ["an array longer than the file", (w) => w.u32(9).u32(12).u64(1000), "ERR_TRUNCATED", /inside an array/],
    ["more strings than bytes", (w) => w.u32(9).u32(8).u64(10_000_000), "ERR_TRUNCATED", /array of strings/],
    [
      "an element longer than the file",
      (w) => w.u32(9).u32(8).u64(1).u64(100).u32(0),
      "ERR_TRUNCATED",
      /inside a string/,
    ],
    [
      "an element of 2^63 bytes",
      (w) =>
        w
          .u32(9)
          .u32(8)
          .u64(1)
          .u64(2n ** 63n),
      "ERR_LIMIT",
      /absurd string length/,
    ],
    ["more inner arrays than bytes", (w) => w.u32(9).u32(9).u64(10).u32(0).u64(0), "ERR_TRUNCATED", /past the end/],
  ])("%s", async (_, write, code, message) => {
    await expectError(rawEntry(write), code, message);
  });

  it("a key or name that is not UTF-8", async () => {
    const writer = new ByteWriter().raw(new TextEncoder().encode("GGUF")).u32(3).u64(0).u64(1);
    writer.string(Uint8Array.of(0xff, 0xfe)).u32(4).u32(1);
    await expectError(openGguf(memorySource(writer.bytes)), "ERR_FORMAT", /UTF-8/);
  });

  it("cut at every byte of its header and tensors", async () => {
    const whole = writeGguf({
      entries: [
        ["a", text("xyz")],
        ["b", strings(["p", "qr"])],
        ["c", { type: "f64", value: 1 }],
      ],
      tensors: [one, { ...one, name: "u" }],
    });
    for (let length = 0; length < whole.byteLength; length++) {
      const opened = openGguf(memorySource(whole.subarray(0, length)));
      if (length < 4) await expectError(opened, "ERR_FORMAT", /not a GGUF/);
      else await expectError(opened, "ERR_TRUNCATED", /./);
    }
  });
});

describe("split models", () => {
  const part = (number: number, count: number, tensors: string[], total = 3): ByteSource =>
    memorySource(
      writeGguf({
        entries: [
          ...(number === 0 ? [["general.architecture", text("llama")] as const] : []),
          ["split.no", { type: "u16", value: number }],
          ["split.count", { type: "u16", value: count }],
          ["split.tensors.count", { type: "i32", value: total }],
        ],
        tensors: tensors.map((name) => ({ name, type: F32, shape: [8] })),
      }),
      `part ${number}`,
    );

  it("are one model, whatever the order of their files", async () => {
    const file = await openGguf([part(2, 3, ["c"]), part(0, 3, ["a"]), part(1, 3, ["b"])]);
    expect([...file.tensors.keys()]).toEqual(["a", "b", "c"]);
    expect(file.tensors.get("b")!.source.name).toBe("part 1");
    expect(file.metadata.string("general.architecture")).toBe("llama");
    await file.close();
    await expectError(tensorBytes(file.tensors.get("b")!), "ERR_DISPOSED", /close/);
  });

  it.each<[string, ByteSource[], ErrorCode, RegExp]>([
    ["a part alone", [part(0, 3, ["a"])], "ERR_MISSING", /expected 3 files, got 1/],
    ["a part missing", [part(0, 3, ["a"]), part(1, 3, ["b"])], "ERR_MISSING", /expected 3 files/],
    ["a part twice", [part(0, 2, ["a"]), part(0, 2, ["b"])], "ERR_FORMAT", /each once/],
    ["a place outside", [part(0, 2, ["a"]), part(2, 2, ["b"])], "ERR_FORMAT", /0 to 1/],
    ["a part too many", [part(0, 1, ["a"]), part(1, 1, ["b"])], "ERR_FORMAT", /only those/],
    [
      "files that are no parts",
      [memorySource(writeGguf({})), memorySource(writeGguf({}))],
      "ERR_FORMAT",
      /joinedSource/,
    ],
    ["a tensor in two parts", [part(0, 2, ["a", "b"]), part(1, 2, ["b"])], "ERR_FORMAT", /in two files/],
    ["too few tensors", [part(0, 2, ["a"]), part(1, 2, ["b"])], "ERR_MISSING", /expected 3, got 2/],
    ["no sources", [], "ERR_ARGUMENT", /number of sources/],
  ])("refuses %s", async (_, sources, code, message) => {
    await expectError(openGguf(sources), code, message);
  });

  it("are found by the name of any of their files, and closed when one is missing or cut", async () => {
    let closed = 0;
    const folder = (files: Record<string, ByteSource>) => async (name: string) => {
      const source = files[name];
      return source && { ...source, close: async () => void closed++ };
    };
    const names = splitFileNames("m-00002-of-00002.gguf")!;
    expect(names).toEqual(["m-00001-of-00002.gguf", "m-00002-of-00002.gguf"]);
    const files = { [names[0]!]: part(0, 2, ["a"], 2), [names[1]!]: part(1, 2, ["b"], 2) };
    expect((await openGgufByName(names[1]!, folder(files))).tensors.size).toBe(2);
    expect(closed).toBe(0);
    await expectError(openGgufByName(names[0]!, folder({ [names[0]!]: part(0, 2, ["a"]) })), "ERR_MISSING", /m-00002/);
    expect(closed).toBe(1);
    const cut = { ...files, [names[1]!]: memorySource(new Uint8Array(30)) };
    await expectError(openGgufByName(names[0]!, folder(cut)), "ERR_FORMAT", /not a GGUF/);
    expect(closed).toBe(3);
    await expectError(openGgufByName("absent.gguf", folder({})), "ERR_MISSING", /no such file/);
    expect(splitFileNames("m-00003-of-00002.gguf")).toBeUndefined();
    expect(splitFileNames("m.gguf")).toBeUndefined();
  });
});

/** The promise of docs/formats.md is 25 ms; the rest is for slower and busy machines. */
const OPEN_LIMIT_MS = 150;
/** 262,144 tokens take some 65 ms; likewise. */
const DECODE_LIMIT_MS = 300;

describe.each([
  ["SmolLM2", smollm2Path, "llama", 49152, 272],
  ["Gemma 3 270M", gemmaPath, "gemma3", 262144, 236],
] as const)("%s", async (_, path, architecture, vocabulary, tensors) => {
  const file = await path();
  it.skipIf(!file)("opens within 150 ms without its vocabulary (skipped where the model is not cached)", async () => {
    const opening: number[] = [];
    const decoding: number[] = [];
    for (let i = 0; i < 5; i++) {
      const start = performance.now();
      const model = await openGguf(await openFileSource(file!));
      const opened = performance.now();
      const tokens = await model.metadata.strings("tokenizer.ggml.tokens");
      decoding.push(performance.now() - opened);
      opening.push(opened - start);
      expect(model.metadata.string("general.architecture")).toBe(architecture);
      expect(model.tensors.size).toBe(tensors);
      expect(tokens.length).toBe(vocabulary);
      if (i === 0) expect(tokens).toEqual(await model.metadata.array("tokenizer.ggml.tokens"));
      await model.close();
    }
    expect(Math.min(...opening)).toBeLessThan(OPEN_LIMIT_MS);
    expect(Math.min(...decoding)).toBeLessThan(DECODE_LIMIT_MS);
  });
});

describe.skipIf(!goldenPath("golden-models", "twins"))(
  "files of gguf's own writer (skipped without golden data)",
  () => {
    it.each(["llama", "qwen3", "gemma3"])("%s opens in F16, Q8_0 and Q4_0", async (name) => {
      for (const type of ["f16", "q8_0", "q4_0"]) {
        const path = goldenPath("golden-models", "twins", name, "gguf", `${name}-${type}.gguf`)!;
        const file = await openGguf(await openFileSource(path));
        expect(file.metadata.string("general.architecture")).toBe(name);
        expect((await file.metadata.strings("tokenizer.ggml.tokens")).length).toBe(512);
        expect(file.tensors.get("token_embd.weight")!.N).toBe(512);
        await file.close();
      }
    });
  },
);
