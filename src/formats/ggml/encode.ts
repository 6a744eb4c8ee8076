import type { GroupValues, QuantizedMatrix } from "../../weights/quantized-matrix.ts";
import { ExactForm } from "../encodings/exact-form.ts";
import { splitGroups } from "../encodings/split-groups.ts";

/** Types of blocks that matrices can be written in. */
export type WritableBlocks = "Q4_0" | "Q4_1" | "Q8_0" | "Q4_K";

const BLOCK = 32;
const SUPER_BLOCK = 256;

/**
 * Whole rows of a matrix as ggml blocks that give the same weights. Throws ERR_UNSUPPORTED, with the reason, for a matrix
 * that the type cannot hold exactly; `place` and `firstOutput` are for the message.
 */
export function encodeBlocks(
  type: WritableBlocks,
  matrix: QuantizedMatrix,
  place: string,
  firstOutput = 0,
): Uint8Array<ArrayBuffer> {
  if (type === "Q4_K") return encodeQ4_K(matrix, place);
  const whole = new ExactForm(matrix, type, place, firstOutput);
  whole.multiple(matrix.K, BLOCK, "inputs");
  whole.multiple(Math.min(matrix.groupSize, matrix.K), BLOCK, "inputs of a group");
  const form = new ExactForm(splitGroups(matrix, BLOCK), type, place, firstOutput);
  if (type === "Q4_0") return encodeQ4_0(form);
  return type === "Q4_1" ? encodeQ4_1(form) : encodeQ8_0(form);
}

/** d f16, 16 bytes of nibbles: d · (q − 8). */
function encodeQ4_0(form: ExactForm): Uint8Array<ArrayBuffer> {
  const codes = form.codes(form.bits(4));
  const zeros = form.zeros(4);
  if (typeof zeros === "number" ? zeros !== 8 : zeros.some((zero) => zero !== 8))
    throw form.refusal("its zero points are not all in the middle");
  const out = new Uint8Array((codes.length / BLOCK) * 18);
  putHalves(form.scales("f16").values, out, 18, 0);
  putNibbles(codes, 16, out, 18, 2);
  return out;
}

/** d f16, m f16, 16 bytes of nibbles: d · q + m. */
function encodeQ4_1(form: ExactForm): Uint8Array<ArrayBuffer> {
  const codes = form.codes(form.bits(4));
  const out = new Uint8Array((codes.length / BLOCK) * 20);
  putHalves(form.scales("f16").values, out, 20, 0);
  putHalves(form.offsets(0, "f16").values, out, 20, 2);
  putNibbles(codes, 16, out, 20, 4);
  return out;
}

/** d f16, 32 signed bytes: d · q. It holds codes of fewer bits, whatever their zero points. */
function encodeQ8_0(form: ExactForm): Uint8Array<ArrayBuffer> {
  const { codes, bits, N, K } = form.matrix;
  const zeros = form.zeros(bits === 8 ? 8 : bits === 4 ? 4 : form.bits(8));
  // Codes of 5 and 6 bits are widened together with their zeros.
  const wide = bits === 5 || bits === 6 ? form.codes(8) : codes;
  const scales = form.scales("f16").values;
  const out = new Uint8Array((codes.length / BLOCK) * 34);
  putHalves(scales, out, 34, 0);
  for (let block = 0; block < (N * K) / BLOCK; block++) {
    const zero = typeof zeros === "number" ? zeros : zeros[block]!;
    for (let i = 0; i < BLOCK; i++) {
      const step = wide[block * BLOCK + i]! - zero;
      if (step < -128 || step > 127) throw form.refusal("codes are further from their zero point than 8 bits reach");
      out[block * 34 + 2 + i] = step;
    }
  }
  return out;
}

/** d f16, dmin f16, 12 bytes of 6-bit scales and mins, 128 bytes of nibbles: d · scale · q − dmin · min. */
function encodeQ4_K(matrix: QuantizedMatrix, place: string): Uint8Array<ArrayBuffer> {
  const form = new ExactForm(matrix, "Q4_K", place);
  const { K, bits, groupSize, scale, zero, offset, codes } = matrix;
  form.multiple(K, SUPER_BLOCK, "inputs");
  const scales = sixBits(scale);
  const mins = offset && sixBits(offset);
  if (bits !== 4 || groupSize !== BLOCK || zero !== 0 || !scales || !mins)
    throw form.refusal("it is not made of 6-bit scales and minima under f16 ones, in groups of 32");
  const blocks = codes.length / SUPER_BLOCK;
  const out = new Uint8Array(blocks * 144);
  putHalves(scales.superValues, out, 144, 0);
  putHalves(mins.superValues, out, 144, 2);
  for (let block = 0; block < blocks; block++) {
    const to = block * 144 + 4;
    for (let i = 0; i < 4; i++) {
      const [s, high] = [scales.codes[block * 8 + i]!, scales.codes[block * 8 + 4 + i]!];
      const [m, highMin] = [mins.codes[block * 8 + i]!, mins.codes[block * 8 + 4 + i]!];
      out[to + i] = s | ((high >> 4) << 6);
      out[to + 4 + i] = m | ((highMin >> 4) << 6);
      out[to + 8 + i] = (high & 15) | ((highMin & 15) << 4);
    }
    for (let part = 0; part < 4; part++) {
      const k = block * SUPER_BLOCK + part * 64;
      for (let i = 0; i < 32; i++) out[to + 12 + part * 32 + i] = codes[k + i]! | (codes[k + 32 + i]! << 4);
    }
  }
  return out;
}

function sixBits(values: GroupValues): Extract<GroupValues, { superSize: number }> | undefined {
  const fits = values.kind === "two-level-u8" && values.superSize === SUPER_BLOCK && values.codes.every((c) => c < 64);
  return fits ? values : undefined;
}

/** One little-endian u16 into each block. */
function putHalves(halves: ArrayLike<number>, out: Uint8Array, blockBytes: number, at: number): void {
  for (let block = 0, p = at; block < halves.length; block++, p += blockBytes) {
    out[p] = halves[block]! & 255;
    out[p + 1] = halves[block]! >> 8;
  }
}

/** Codes of a block, twice `half` of them, as nibbles: the first half low, the second high. */
function putNibbles(codes: Uint8Array, half: number, out: Uint8Array, blockBytes: number, at: number): void {
  for (let k = 0, p = at; k < codes.length; k += 2 * half, p += blockBytes)
    for (let i = 0; i < half; i++) out[p + i] = codes[k + i]! | (codes[k + half + i]! << 4);
}
