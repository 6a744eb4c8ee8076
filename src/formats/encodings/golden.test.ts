import { fileURLToPath } from "node:url";
import { describe, expect, it } from "vitest";
import { goldenCases, weightsOf } from "../../../test/encodings.ts";
import { goldenPath } from "../../../test/golden-data.ts";
import { f32ToBf16, f32ToF16 } from "../../arithmetic/half.ts";
import { awqForm, decodeAwq, encodeAwq } from "./awq.ts";
import { compressedForm, decodeCompressed, encodeCompressed, readWeightShape } from "./compressed-tensors.ts";
import { cpuInt4Form, decodeCpuInt4, encodeCpuInt4 } from "./cpu-int4.ts";
import { decodeGptq, encodeGptq, type GptqVersion, gptqForm } from "./gptq.ts";
import { putColumns } from "./input-order.ts";
import { type Tensor, transposed } from "./tensors.ts";
import { decodeTinygemm, encodeTinygemm, type TinygemmLayout } from "./tinygemm.ts";

const own = fileURLToPath(new URL("../../../test/golden/encodings.safetensors", import.meta.url));

/** Few cases are the project's own; all of them stand in the larger golden data. */
async function cases(prefix: string, ...files: string[]): Promise<[string, Record<string, Tensor>][]> {
  const all = new Map<string, Record<string, Tensor>>();
  for (const path of files.map((file) => goldenPath("golden", `${file}.safetensors`))) {
    if (path) for (const [name, parts] of await goldenCases(path)) all.set(name, { ...all.get(name), ...parts });
  }
  return [...(all.size > 0 ? all : await goldenCases(own, `${prefix}/`))];
}

/** A tensor that was written against the one that was read; `toEqual` takes milliseconds for each thousand elements. */
function expectSame(tensor: Tensor, truth: Tensor | undefined, key: string): void {
  expect([tensor.dtype, tensor.shape], key).toEqual([truth?.dtype, truth?.shape]);
  expect(Buffer.compare(tensor.bytes, truth!.bytes), key).toBe(0);
}

const u16 = ({ bytes }: Tensor): Uint16Array => new Uint16Array(bytes.slice().buffer);
const rounded = (weights: Float32Array, to: (x: number) => number): Uint16Array => Uint16Array.from(weights, to);

describe.each(await cases("cpu_int4", "cpu_int4_pack", "cpu_int4_dequant"))("cpu_int4 %s", (_, parts) => {
  const form = cpuInt4Form(parts, {}, "w");
  const matrix = decodeCpuInt4(parts, form);

  it("has the codes, and the weights rounded once, that the library has", () => {
    const { w_once: truth } = parts;
    if (truth) expect(rounded(weightsOf(matrix), f32ToBf16)).toEqual(u16(truth));
    expect(matrix.codes[1]).toBe(parts.weight_packed!.bytes[0]! >> 4);
  });

  it("is written as it was read", () => {
    for (const [key, tensor] of Object.entries(encodeCpuInt4(matrix))) expectSame(tensor, parts[key], key);
  });
});

describe.each(await cases("gptq", "gptq"))("GPTQ %s", (_, parts) => {
  it.each(["v1", "v2"] as const)(
    "%s has the codes, zeros and weights of the library, and is written back",
    (version) => {
      const tensors = { ...parts, qzeros: parts[`qzeros_${version}`]! };
      const form = { ...gptqForm(tensors, {}, "w"), version };
      const { N, K, groupSize } = form;
      const decoded = decodeGptq(tensors, form);
      const { matrix, inputOrder: order } = decoded;
      expect(order ? putColumns(matrix.codes, N, order) : matrix.codes).toEqual(parts.codes!.bytes);
      expect(matrix.zero).toEqual(transposed(parts.zeros!.bytes, K / groupSize, N));
      const weights = transposed(weightsOf(matrix, order), N, K);
      expect(rounded(weights, f32ToF16)).toEqual(u16(parts.w_dequant!));
      for (const [key, tensor] of Object.entries(encodeGptq(decoded, version))) {
        expectSame(tensor, tensors[key as keyof typeof tensors], key);
      }
    },
  );
});

describe.each(await cases("awq", "awq"))("AWQ %s", (_, parts) => {
  it("has the codes, zeros and weights of the library, and is written back", () => {
    const form = awqForm(parts, {}, "w");
    const { N, K, groupSize } = form;
    const matrix = decodeAwq(parts, form);
    expect(matrix.codes).toEqual(parts.codes!.bytes);
    expect(matrix.zero).toEqual(transposed(parts.zeros!.bytes, K / groupSize, N));
    expect(rounded(transposed(weightsOf(matrix), N, K), f32ToF16)).toEqual(u16(parts.w_dequant!));
    for (const [key, tensor] of Object.entries(encodeAwq(matrix))) expectSame(tensor, parts[key], key);
  });
});

const compressed = await cases("compressed_tensors", "compressed_tensors_w4a16");
describe.each(compressed)("compressed-tensors %s", (_, parts) => {
  it("has the codes, zeros and weights of the library, and is written back", () => {
    const form = compressedForm(parts, readWeightShape(parts.weight_shape!, "w"), {}, "w");
    const decoded = decodeCompressed(parts, form);
    const { matrix, inputOrder: order } = decoded;
    const signed = (bytes: Uint8Array): Uint8Array => bytes.map((code) => code - 8);
    const codes = order ? putColumns(matrix.codes, form.N, order) : matrix.codes;
    expect(signed(codes)).toEqual(parts.q!.bytes);
    const zeros = parts.zero_point_unpacked?.bytes;
    if (zeros) expect(signed(matrix.zero as Uint8Array)).toEqual(zeros);
    else expect(matrix.zero).toBe(8);
    const half = parts.w_dequant!.dtype === "F16" ? f32ToF16 : f32ToBf16;
    expect(rounded(weightsOf(matrix, order), half)).toEqual(u16(parts.w_dequant!));
    for (const [key, tensor] of Object.entries(encodeCompressed(decoded))) expectSame(tensor, parts[key], key);
  });
});

describe("tinygemm", async () => {
  const layouts = await cases("tinygemm", "tinygemm_layout");
  it.each(layouts.filter(([, { q }]) => q))("%s has the bytes of each instruction set", (_, parts) => {
    const [N, K] = parts.q!.shape as [number, number];
    const zeros: Tensor = { dtype: "BF16", shape: [1, N, 2], bytes: new Uint8Array(4 * N) };
    for (const layout of ["avx512", "avx2", "default"] as const satisfies TinygemmLayout[]) {
      const form = { N, K, bits: 4, groupSize: K } as const;
      const matrix = decodeTinygemm({ weight: parts[layout], scales_and_zeros: zeros }, form, layout);
      expect(matrix.codes).toEqual(parts.q!.bytes);
      expect(encodeTinygemm(matrix, layout).weight).toEqual(parts[layout]);
    }
  });

  const products = await cases("tinygemm", "tinygemm_mm", "cpu_int4_pack");
  const paired = products.filter(([, parts]) => parts.int4pack && parts.scales_and_zeros);
  const sources = new Map(await cases("cpu_int4", "cpu_int4_pack"));
  it.each(paired)("%s holds what cpu_int4 does", (name, { int4pack, scales_and_zeros }) => {
    const source = sources.get(name)!;
    const form = cpuInt4Form(source, {}, "w");
    const matrix = decodeCpuInt4(source, form);
    const decoded = decodeTinygemm({ weight: int4pack, scales_and_zeros }, form, "avx512");
    expect(Buffer.compare(decoded.codes, matrix.codes)).toBe(0);
    expect([decoded.scale, decoded.offset]).toEqual([matrix.scale, matrix.offset]);
    const written = encodeTinygemm(matrix, "avx512");
    expectSame(written.weight!, int4pack, name);
    expectSame(written.scales_and_zeros!, scales_and_zeros, name);
  });
});

it("reads GPTQ's zeros by words: a nibble's borrow is its neighbour's", () => {
  const qzeros: Tensor = { dtype: "I32", shape: [1, 1], bytes: Uint8Array.of(0xef, 0xee, 0xee, 0xee) };
  const version: GptqVersion = "v1";
  const scales: Tensor = { dtype: "F16", shape: [1, 8], bytes: new Uint8Array(16) };
  const qweight: Tensor = { dtype: "I32", shape: [1, 8], bytes: new Uint8Array(32) };
  const parts = { qweight, qzeros, scales };
  const { matrix } = decodeGptq(parts, { ...gptqForm(parts, {}, "w"), version });
  expect(matrix.zero).toEqual(Uint8Array.of(0, 0, 0, 0, 0, 0, 0, 0));
});
