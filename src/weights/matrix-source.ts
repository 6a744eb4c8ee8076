import type { Matrix } from "./quantized-matrix.ts";

/**
 * A matrix still in its file, read by rows so that a model can be packed without ever standing in memory twice.
 */
export interface MatrixSource {
  /** The tensor's name in its file, for messages. */
  readonly name: string;
  readonly N: number;
  readonly K: number;
  /** A matrix of this kind with no rows: what the packed layout is made from. */
  readonly like: Matrix;
  /** Bytes of one row in the file. */
  readonly rowBytes: number;
  /**
   * Columns stand in another order than inputs come in (GPTQ's `desc_act`, `actorder`): column j of `like` and of all rows
   * has the weights of input `inputOrder[j]`. Absent: of input j. Whoever reads rows must heed it.
   */
  readonly inputOrder?: Int32Array;
  /** Rows `first … first + count − 1` as a matrix of `count` outputs. */
  readRows(first: number, count: number): Promise<Matrix>;
  /** Where rows stand as ggml blocks: executors with a packing kernel of their own read these bytes instead. */
  readonly ggml?: {
    readonly type: number;
    /** Reads whole rows into `target`, of `count · rowBytes` bytes. */
    readInto(first: number, count: number, target: Uint8Array): Promise<void>;
  };
}
