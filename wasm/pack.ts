import { Matrix } from "./linear-matrix";
import { packFloats16, packFloats32 } from "./pack-floats";
import { packQ4_K, packQ5_K, packQ6_K } from "./pack-k-quants";
import { packNibbleBlocks, packQ8_0 } from "./pack-legacy";

/**
 * Rows of ggml blocks at `source` as packed blocks `firstBlock …` of a matrix whose memory is zeroed: the bytes that
 * src/weights/pack.ts gives. A last block may have fewer than 16 rows. 0 where the type has no kernel here, else 1.
 */
export function packRows(ggmlType: i32, source: usize, rows: i32, matrixRecord: usize, firstBlock: i32): i32 {
  const matrix = changetype<Matrix>(matrixRecord);
  const rowBytes = bytesOfRow(ggmlType, matrix.inputs);
  if (rowBytes == 0) return 0;
  for (let first = 0; first < rows; first += 4) {
    const block = matrix.address + <usize>(firstBlock + (first >> 4)) * matrix.blockBytes;
    packFour(ggmlType, source, rowBytes, min(4, rows - first), block, first & 15, matrix);
    source += rowBytes << 2;
  }
  return 1;
}

/** Sizes: src/formats/ggml/types.ts. */
function bytesOfRow(ggmlType: i32, K: i32): usize {
  const inputs = <usize>K;
  switch (ggmlType) {
    case 0:
      return inputs << 2;
    case 1:
    case 30:
      return inputs << 1;
    case 2:
    case 20:
      return (inputs >> 5) * 18;
    case 3:
      return (inputs >> 5) * 20;
    case 6:
      return (inputs >> 5) * 22;
    case 7:
      return (inputs >> 5) * 24;
    case 8:
      return (inputs >> 5) * 34;
    case 12:
      return (inputs >> 8) * 144;
    case 13:
      return (inputs >> 8) * 176;
    case 14:
      return (inputs >> 8) * 210;
    case 39:
      return (inputs >> 5) * 17;
    default:
      return 0;
  }
}

/** Rows c … c + count − 1 of a block, count 1 to 4. */
function packFour(
  ggmlType: i32,
  source: usize,
  rowBytes: usize,
  count: i32,
  block: usize,
  c: i32,
  matrix: Matrix,
): void {
  switch (ggmlType) {
    case 0:
      packFloats32(source, rowBytes, count, block, c, matrix.inputs);
      break;
    case 1:
    case 30:
      packFloats16(source, rowBytes, count, block, c, matrix.inputs);
      break;
    case 2:
    case 20:
      packNibbleBlocks(18, 2, 0, 0, false, source, rowBytes, count, block, c, matrix);
      break;
    case 3:
      packNibbleBlocks(20, 4, 2, 0, false, source, rowBytes, count, block, c, matrix);
      break;
    case 6:
      packNibbleBlocks(22, 6, 0, 2, false, source, rowBytes, count, block, c, matrix);
      break;
    case 7:
      packNibbleBlocks(24, 8, 2, 4, false, source, rowBytes, count, block, c, matrix);
      break;
    case 39:
      packNibbleBlocks(17, 1, 0, 0, true, source, rowBytes, count, block, c, matrix);
      break;
    case 8:
      packQ8_0(source, rowBytes, count, block, c, matrix);
      break;
    case 12:
      packQ4_K(source, rowBytes, count, block, c, matrix);
      break;
    case 13:
      packQ5_K(source, rowBytes, count, block, c, matrix);
      break;
    case 14:
      packQ6_K(source, rowBytes, count, block, c, matrix);
      break;
  }
}
