import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { randomMatrix } from "../../../test/encodings.ts";
import { safetensorsOf } from "../../../test/safetensors-writer.ts";
import type { MatrixSource } from "../../weights/matrix-source.ts";
import type { QuantizedMatrix } from "../../weights/quantized-matrix.ts";
import type { ByteSource } from "../byte-source.ts";
import { memorySource } from "../memory-source.ts";
import { openSafetensors, type SafetensorsTensor } from "../safetensors/open-safetensors.ts";
import { awqAxes, awqForm, decodeAwq, encodeAwq } from "./awq.ts";
import {
  compressedAxes,
  compressedForm,
  decodeCompressed,
  decodeIntQuantized,
  encodeCompressed,
  encodeIntQuantized,
  intQuantizedAxes,
  intQuantizedForm,
} from "./compressed-tensors.ts";
import { cpuInt4Axes, cpuInt4Form, decodeCpuInt4, encodeCpuInt4 } from "./cpu-int4.ts";
import { encodedMatrix } from "./encoded-matrix.ts";
import { decodeGptq, encodeGptq, gptqAxes, gptqForm } from "./gptq.ts";
import type { Tensor } from "./tensors.ts";

interface Watched {
  reads: number;
  largest: number;
  bytes: number;
}

/** The tensors in a file that tells how it is read. */
async function inFile(tensors: object, watched: Watched): Promise<Record<string, SafetensorsTensor>> {
  const inner = memorySource(safetensorsOf(Object.entries(tensors) as [string, Tensor][]), "w");
  const source: ByteSource = {
    ...inner,
    readInto(offset, target) {
      watched.reads++;
      watched.largest = Math.max(watched.largest, target.byteLength);
      watched.bytes += target.byteLength;
      return inner.readInto(offset, target);
    },
  };
  return Object.fromEntries((await openSafetensors(source)).tensors);
}

type Open = (tensors: Record<string, SafetensorsTensor>, held: number | undefined, m: QuantizedMatrix) => MatrixSource;

const encodings: [name: string, bits: 4 | 8, encode: (matrix: QuantizedMatrix) => object, open: Open][] = [
  [
    "cpu_int4",
    4,
    encodeCpuInt4,
    (tensors, held) =>
      encodedMatrix(
        { name: "w", form: cpuInt4Form(tensors, {}, "w"), tensors, axes: cpuInt4Axes, decode: decodeCpuInt4 },
        held,
      ),
  ],
  ...([4, 8] as const).map((bits): (typeof encodings)[0] => [
    "GPTQ",
    bits,
    (matrix) => encodeGptq({ matrix }, "v1"),
    (tensors, held) => {
      const form = { ...gptqForm(tensors, {}, "w"), version: "v1" as const };
      const decode = (...args: Parameters<typeof decodeGptq>) => decodeGptq(...args).matrix;
      return encodedMatrix({ name: "w", form, tensors, axes: gptqAxes(bits), decode }, held);
    },
  ]),
  [
    "AWQ",
    4,
    encodeAwq,
    (tensors, held) =>
      encodedMatrix({ name: "w", form: awqForm(tensors, {}, "w"), tensors, axes: awqAxes, decode: decodeAwq }, held),
  ],
  ...([4, 8] as const).map((bits): (typeof encodings)[0] => [
    "pack-quantized",
    bits,
    (matrix) => encodeCompressed({ matrix }),
    (tensors, held, { N, K }) => {
      const form = compressedForm(tensors, [N, K], {}, "w");
      const decode = (...args: Parameters<typeof decodeCompressed>) => decodeCompressed(...args).matrix;
      return encodedMatrix({ name: "w", form, tensors, axes: compressedAxes(tensors, bits), decode }, held);
    },
  ]),
  [
    "int-quantized",
    8,
    encodeIntQuantized,
    (tensors, held) =>
      encodedMatrix(
        {
          name: "w",
          form: intQuantizedForm(tensors, {}, "w"),
          tensors,
          axes: intQuantizedAxes,
          decode: decodeIntQuantized,
        },
        held,
      ),
  ],
];

describe.each(encodings)("%s of %i bits in a file", (name, bits, encode, open) => {
  const matrix = (N: number, K: number): QuantizedMatrix =>
    randomMatrix(N, N, K, 32, { bits, scale: "bf16", scaleBits: 4, zeros: name === "cpu_int4" ? "middle" : "any" })
      .matrix;

  // Words of GPTQ and AWQ hold eight outputs.
  const N = name === "GPTQ" || name === "AWQ" ? 72 : 70;

  it("gives any rows as the whole matrix has them, however little is held", async () => {
    const run = fc.asyncProperty(
      fc.integer({ min: 1, max: 9 }),
      fc.array(fc.tuple(fc.nat(69), fc.nat(20)), { minLength: 1, maxLength: 6 }),
      fc.constantFrom(undefined, 1, 200, 2000),
      async (groups, ranges, held) => {
        const m = matrix(N, groups * 32);
        const source = open(await inFile(encode(m), { reads: 0, largest: 0, bytes: 0 }), held, m);
        const whole = (await source.readRows(0, N)) as QuantizedMatrix;
        expect(source).toMatchObject({ N, K: groups * 32, like: { N: 0, bits, scale: { kind: "bf16" } } });
        expect(Buffer.compare(whole.codes, m.codes)).toBe(0);
        for (const [first, count] of ranges) {
          const end = Math.min(N, first + count);
          const rows = (await source.readRows(first, end - first)) as QuantizedMatrix;
          expect(rows.N).toBe(end - first);
          expect(Buffer.compare(rows.codes, m.codes.subarray(first * m.K, end * m.K))).toBe(0);
          for (const part of ["scale", "zero", "offset"] as const)
            expect(flat(rows, part)).toEqual(flat(whole, part).slice(first * groups, end * groups));
        }
      },
    );
    await fc.assert(run, { numRuns: 25 });
  });

  it("reads each byte once when rows are asked for in turn, and holds no more than it may", async () => {
    const m = matrix(512, 64);
    const watched: Watched = { reads: 0, largest: 0, bytes: 0 };
    const tensors = await inFile(encode(m), watched);
    const source = open(tensors, 4096, m);
    const size = Object.values(tensors).reduce((sum, { byteLength }) => sum + byteLength, 0);
    watched.bytes = watched.largest = 0;
    for (let first = 0; first < 512; first += 16) await source.readRows(first, 16);
    expect(watched.bytes).toBeLessThanOrEqual(size);
    expect(watched.largest).toBeLessThanOrEqual(4096);
    expect(size).toBeGreaterThan(4 * 4096);
  });
});

function flat(matrix: QuantizedMatrix, part: "scale" | "zero" | "offset"): number[] {
  const values = matrix[part];
  if (values === undefined || typeof values === "number") return [];
  return [...("kind" in values ? ("values" in values ? values.values : []) : values)];
}
