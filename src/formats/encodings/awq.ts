import { HalfbyteError } from "../../errors.ts";
import type { FloatType, QuantizedMatrix } from "../../weights/quantized-matrix.ts";
import { ExactForm } from "./exact-form.ts";
import { type Declared, type MatrixForm, matrixForm } from "./form.ts";
import type { OutputAxis } from "./outputs.ts";
import {
  newTensor,
  type Parts,
  part,
  SCALE_DTYPES,
  type Tensor,
  type TensorHeader,
  transposedGroupTensor,
  transposedGroupValues,
  type Written,
  wordsOf,
} from "./tensors.ts";

/**
 * AWQ in the layout of AutoAWQ's "gemm": `qweight` i32 [K, N/8] and `qzeros` i32 [G, N/8], each word eight outputs of one
 * input in the order below; `scales` [G, N]. w = scale · (code − zero); zeros are stored as they are.
 */
type Key = "qweight" | "qzeros" | "scales";
export type AwqParts<T extends TensorHeader = Tensor> = Parts<Key, T>;

/** Nibble i of a word, from the lowest, is output 8c + ORDER[i]. Source: AutoAWQ, awq/modules/linear/gemm.py. */
const ORDER = [0, 2, 4, 6, 1, 3, 5, 7] as const;
const PER_WORD = 8;
/** Types of scales, likeliest first. */
export const AWQ_SCALES: readonly FloatType[] = ["f16", "bf16"];
/** Inputs that are decoded together, so that words of one row share a cache line. */
const TILE = 64;

export const awqAxes: Record<Key, OutputAxis> = {
  qweight: { axis: 1, outputsPerElement: PER_WORD },
  qzeros: { axis: 1, outputsPerElement: PER_WORD },
  scales: { axis: 1, outputsPerElement: 1 },
};

/** The shape the tensors have. Throws ERR_MISSING, ERR_SHAPE or ERR_UNSUPPORTED where they do not fit each other. */
export function awqForm(parts: AwqParts<TensorHeader>, declared: Declared, place: string): MatrixForm {
  const scales = part(parts, "scales", SCALE_DTYPES, [undefined, undefined], place);
  const [groups, N] = scales.shape as [number, number];
  const qweight = part(parts, "qweight", ["I32"], [undefined, undefined], place);
  const [K, width] = qweight.shape as [number, number];
  if (width * PER_WORD !== N)
    throw new HalfbyteError("ERR_SHAPE", "the tensors of a matrix do not fit each other", {
      place: `${place}.qweight`,
      expected: `[any,${N / PER_WORD}], as scales have it`,
      got: `[${qweight.shape}]`,
      ...(width === N && { remedy: "these are tensors of GPTQ" }),
    });
  part(parts, "qzeros", ["I32"], [groups, width], place);
  return matrixForm({ N, K, bits: 4 }, groups, declared, place);
}

/** Throws as `awqForm` for tensors that are not of the form. */
export function decodeAwq(parts: AwqParts, form: MatrixForm, place = "awq"): QuantizedMatrix {
  const { N, K, groupSize } = form;
  const groups = K / groupSize;
  const qweight = part(parts, "qweight", ["I32"], [K, N / PER_WORD], place);
  const qzeros = part(parts, "qzeros", ["I32"], [groups, N / PER_WORD], place);
  return {
    kind: "quantized",
    N,
    K,
    bits: 4,
    groupSize,
    codes: fromWords(wordsOf(qweight), N, K),
    scale: transposedGroupValues(part(parts, "scales", SCALE_DTYPES, [groups, N], place)),
    zero: fromWords(wordsOf(qzeros), N, groups),
  };
}

/** Exact; throws ERR_UNSUPPORTED, with the reason, for a matrix that AWQ cannot hold. */
export function encodeAwq(
  matrix: QuantizedMatrix,
  place = "matrix",
  scales: readonly FloatType[] = AWQ_SCALES,
): Written<Key> {
  const { N, K } = matrix;
  const form = new ExactForm(matrix, "AWQ", place);
  form.bits(4);
  form.multiple(N, PER_WORD, "outputs");
  const zero = form.zeros(4);
  const zeros = typeof zero === "number" ? new Uint8Array(N * form.groups).fill(zero) : zero;
  return {
    qweight: newTensor("I32", [K, N / PER_WORD], toWords(matrix.codes, N, K)),
    qzeros: newTensor("I32", [form.groups, N / PER_WORD], toWords(zeros, N, form.groups)),
    scales: transposedGroupTensor(form.scales(...scales), N),
  };
}

/** [columns, N/8] words to [N, columns]. */
function fromWords(words: Uint32Array, N: number, columns: number): Uint8Array {
  const out = new Uint8Array(N * columns);
  const width = N / PER_WORD;
  // Four columns at once make whole words of the result.
  const quads = columns % 4 === 0 ? new Uint32Array(out.buffer) : undefined;
  for (let tile = 0; tile < columns; tile += TILE) {
    const end = Math.min(columns, tile + TILE);
    for (let c = 0; c < width; c++) {
      if (quads) quadsOfWord(words, width, columns, c, tile, end, quads);
      else {
        for (let k = tile; k < end; k++)
          for (let i = 0; i < PER_WORD; i++)
            out[(c * PER_WORD + ORDER[i]!) * columns + k] = (words[k * width + c]! >>> (4 * i)) & 15;
      }
    }
  }
  return out;
}

/** Outputs 8c … 8c+7 of columns `first … end − 1`. */
function quadsOfWord(
  words: Uint32Array,
  width: number,
  columns: number,
  c: number,
  first: number,
  end: number,
  out: Uint32Array,
): void {
  const nibbles = 0x0f0f0f0f;
  for (let k = first, from = first * width + c; k < end; k += 4, from += 4 * width) {
    // A 4 × 4 transpose of bytes; each byte has the nibbles of two outputs.
    const [w0, w1, w2, w3] = [words[from]!, words[from + width]!, words[from + 2 * width]!, words[from + 3 * width]!];
    for (let byte = 0; byte < 4; byte++) {
      const shift = 8 * byte;
      const both =
        ((w0 >>> shift) & 255) |
        (((w1 >>> shift) & 255) << 8) |
        (((w2 >>> shift) & 255) << 16) |
        (((w3 >>> shift) & 255) << 24);
      out[((c * PER_WORD + ORDER[2 * byte]!) * columns + k) / 4] = both & nibbles;
      out[((c * PER_WORD + ORDER[2 * byte + 1]!) * columns + k) / 4] = (both >>> 4) & nibbles;
    }
  }
}

function toWords(values: Uint8Array, N: number, columns: number): Uint32Array {
  const width = N / PER_WORD;
  const words = new Uint32Array(columns * width);
  for (let c = 0; c < width; c++) {
    for (let k = 0; k < columns; k++) {
      const at = c * PER_WORD * columns + k;
      let word = 0;
      for (let i = 0; i < PER_WORD; i++) word |= values[at + ORDER[i]! * columns]! << (4 * i);
      words[k * width + c] = word;
    }
  }
  return words;
}
