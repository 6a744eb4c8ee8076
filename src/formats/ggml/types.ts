import { HalfbyteError } from "../../errors.ts";

/** One of ggml's tensor encodings: rows are whole blocks of `blockSize` elements in `blockBytes` bytes. */
export interface GgmlType {
  /** The number files have. */
  readonly id: number;
  readonly name: string;
  /** Elements of a block; 1 for plain numbers. */
  readonly blockSize: number;
  readonly blockBytes: number;
  /** Whether `decodeToMatrix` and `decodeToFloat` know it; the others can be listed, not run. */
  readonly decodes: boolean;
}

// Numbers and sizes: ggml.h and gguf-py/gguf/constants.py of llama.cpp.
const decoded: [id: number, name: string, blockSize: number, blockBytes: number][] = [
  [0, "F32", 1, 4],
  [1, "F16", 1, 2],
  [2, "Q4_0", 32, 18],
  [3, "Q4_1", 32, 20],
  [6, "Q5_0", 32, 22],
  [7, "Q5_1", 32, 24],
  [8, "Q8_0", 32, 34],
  [10, "Q2_K", 256, 84],
  [11, "Q3_K", 256, 110],
  [12, "Q4_K", 256, 144],
  [13, "Q5_K", 256, 176],
  [14, "Q6_K", 256, 210],
  [20, "IQ4_NL", 32, 18],
  [23, "IQ4_XS", 256, 136],
  [30, "BF16", 1, 2],
  [39, "MXFP4", 32, 17],
];
const listed: [id: number, name: string, blockSize: number, blockBytes: number][] = [
  [9, "Q8_1", 32, 36],
  [15, "Q8_K", 256, 292],
  [16, "IQ2_XXS", 256, 66],
  [17, "IQ2_XS", 256, 74],
  [18, "IQ3_XXS", 256, 98],
  [19, "IQ1_S", 256, 50],
  [21, "IQ3_S", 256, 110],
  [22, "IQ2_S", 256, 82],
  [24, "I8", 1, 1],
  [25, "I16", 1, 2],
  [26, "I32", 1, 4],
  [27, "I64", 1, 8],
  [28, "F64", 1, 8],
  [29, "IQ1_M", 256, 56],
  [34, "TQ1_0", 256, 54],
  [35, "TQ2_0", 256, 66],
  [40, "NVFP4", 64, 36],
  [41, "Q1_0", 128, 18],
];
/** Types that ggml has withdrawn: their files must be made again. */
const withdrawn: ReadonlyMap<number, string> = new Map([
  [4, "Q4_2"],
  [5, "Q4_3"],
  [31, "Q4_0_4_4"],
  [32, "Q4_0_4_8"],
  [33, "Q4_0_8_8"],
  [36, "IQ4_NL_4_4"],
  [37, "IQ4_NL_4_8"],
  [38, "IQ4_NL_8_8"],
]);

function entries(rows: typeof decoded, decodes: boolean): [number, GgmlType][] {
  return rows.map(([id, name, blockSize, blockBytes]) => [id, { id, name, blockSize, blockBytes, decodes }]);
}

const byId: ReadonlyMap<number, GgmlType> = new Map([...entries(decoded, true), ...entries(listed, false)]);

/** All types whose sizes are known, by number. */
export function ggmlTypes(): readonly GgmlType[] {
  return [...byId.values()].sort((a, b) => a.id - b.id);
}

/** The type of a number in a file, or ERR_UNSUPPORTED at `place` for one that is unknown or withdrawn. */
export function ggmlType(id: number, place?: string): GgmlType {
  const type = byId.get(id);
  if (type) return type;
  const old = withdrawn.get(id);
  throw new HalfbyteError(
    "ERR_UNSUPPORTED",
    old ? `tensor type ${old} was withdrawn from ggml` : "unknown tensor type",
    {
      ...(place !== undefined && { place }),
      got: `type ${id}`,
      remedy: old ? "convert the model again" : "is the file newer than this version of Halfbyte?",
    },
  );
}
