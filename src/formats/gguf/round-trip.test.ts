import fc from "fast-check";
import { expect, it } from "vitest";
import { type WrittenTensor, type WrittenValue, writeGguf } from "../../../test/gguf-writer.ts";
import { ggmlTypes } from "../ggml/types.ts";
import { memorySource } from "../memory-source.ts";
import { tensorBytes } from "../tensor-bytes.ts";
import type { GgufType } from "./metadata.ts";
import { openGguf } from "./open-gguf.ts";

/** Values as they must come back: f32 already rounded, 64-bit integers as numbers where these are exact. */
const scalars: Record<Exclude<GgufType, "array">, fc.Arbitrary<number | bigint | boolean | string>> = {
  u8: fc.integer({ min: 0, max: 255 }),
  i8: fc.integer({ min: -128, max: 127 }),
  u16: fc.integer({ min: 0, max: 65535 }),
  i16: fc.integer({ min: -32768, max: 32767 }),
  u32: fc.integer({ min: 0, max: 0xffffffff }),
  i32: fc.integer({ min: -0x80000000, max: 0x7fffffff }),
  f32: fc.float({ noNaN: true }),
  f64: fc.double({ noNaN: true }),
  u64: fc.bigInt({ min: 0n, max: 2n ** 64n - 1n }).map(narrowed),
  i64: fc.bigInt({ min: -(2n ** 63n), max: 2n ** 63n - 1n }).map(narrowed),
  bool: fc.boolean(),
  string: fc.string({ unit: "grapheme", maxLength: 40 }),
};

function narrowed(value: bigint): number | bigint {
  return Number.isSafeInteger(Number(value)) ? Number(value) : value;
}

const types = Object.keys(scalars) as Exclude<GgufType, "array">[];
const scalar: fc.Arbitrary<WrittenValue> = fc
  .constantFrom(...types)
  .chain((type) => scalars[type].map((value) => ({ type, value })));
const array: fc.Arbitrary<WrittenValue> = fc
  .constantFrom(...types)
  .chain((of) => fc.array(scalars[of], { maxLength: 20 }).map((value) => ({ type: "array" as const, of, value })));
const nested: fc.Arbitrary<WrittenValue> = fc
  .array(array, { maxLength: 4 })
  .map((value) => ({ type: "array" as const, of: "array" as const, value }));
const key = fc.string({ unit: "grapheme", minLength: 1, maxLength: 30 }).filter((text) => text !== "general.alignment");
const entries = fc.uniqueArray(fc.tuple(key, fc.oneof(scalar, array, nested)), {
  selector: ([name]) => name,
  maxLength: 12,
});

const tensor: fc.Arbitrary<WrittenTensor> = fc
  .record({
    name: fc.string({ unit: fc.constantFrom(..."abc.0123_"), minLength: 1, maxLength: 20 }),
    type: fc.constantFrom(...ggmlTypes()),
    blocks: fc.integer({ min: 1, max: 4 }),
    others: fc.array(fc.integer({ min: 1, max: 4 }), { maxLength: 3 }),
    seed: fc.nat(255),
  })
  .map(({ name, type, blocks, others, seed }) => ({
    name,
    type: type.id,
    shape: [blocks * type.blockSize, ...others],
    data: new Uint8Array(others.reduce((product, size) => product * size, blocks) * type.blockBytes).fill(seed),
  }));
const tensors = fc.uniqueArray(tensor, { selector: ({ name }) => name, maxLength: 8 });

const value = (written: WrittenValue): unknown =>
  written.type === "array"
    ? written.value.map((item) => (typeof item === "object" && "type" in item ? value(item) : item))
    : written.value;

it("what is written is what is read, for any metadata, tensors and alignment", async () => {
  const property = fc.asyncProperty(
    entries,
    tensors,
    fc.constantFrom(1, 8, 32, 256),
    async (keys, table, alignment) => {
      const declared: readonly [string, WrittenValue] = ["general.alignment", { type: "u32", value: alignment }];
      const bytes = writeGguf({ entries: [...keys, declared], tensors: table, alignment });
      const file = await openGguf(memorySource(bytes));
      expect([...file.metadata].map((entry) => entry.key)).toEqual([
        ...keys.map(([name]) => name),
        "general.alignment",
      ]);
      for (const [name, written] of keys) {
        const entry = file.metadata.entry(name)!;
        if (entry.type === "string") expect(file.metadata.string(name)).toBe(value(written));
        else if (entry.type !== "array") expect(entry.value).toBe(value(written));
        else {
          expect(await file.metadata.array(name)).toEqual(value(written));
          if (entry.elementType === "string") expect(await file.metadata.strings(name)).toEqual(value(written));
        }
      }
      expect([...file.tensors.keys()]).toEqual(table.map(({ name }) => name));
      for (const { name, shape, data } of table) {
        expect(file.tensors.get(name)!.shape).toEqual(shape);
        expect(await tensorBytes(file.tensors.get(name)!)).toEqual(data);
      }
    },
  );
  await fc.assert(property, { numRuns: 200 });
});
