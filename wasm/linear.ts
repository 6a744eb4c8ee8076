import { ACTIVATION_MAX } from "./control";
import { highMaskOf } from "./linear-codes";
import { floatBlock } from "./linear-float";
import { groupParameters } from "./linear-groups";
import { BIAS_FACTOR, MOVED_MASK } from "./linear-half";
import { blockOf, codeForm, Matrix } from "./linear-matrix";
import { integerSums } from "./linear-row";
import { scaleSums, scaleSumsOfAnyKind } from "./linear-scale";
import {
  CHUNK_INPUTS,
  CHUNK_RUNS,
  CODES,
  HALF_FACTOR,
  HALF_MASK,
  HIGH_MASK,
  NIBBLE_MASK,
  ROW_BATCH,
  SUMS,
  Task,
  UPPER_MASK,
  UPPER_WORD_MASK,
  WORD_BYTE_MASK,
  WORD_NIBBLE_MASK,
} from "./linear-task";
import { tileChunk } from "./linear-tile";
import { unpackBytes, unpackWords } from "./linear-unpack";
import { usesBytes } from "./quantize";

export { LINEAR_SCRATCH_BYTES } from "./linear-task";

/**
 * Output blocks firstBlock … lastBlock − 1, of 16 outputs, for all rows: y = x · Wᵀ (+ bias), then residual + y.
 * Arithmetic rules 1 and 4. Bytes: every address and stride but runs.
 *
 * quantized: whether input rows are quantised, to the mode's largest code; else they are f32. inputGroup, inputRun,
 * scaleAt, sumAt: of those rows. matrix: its record. bias, residual: 0 for none; residual may be out. run: inputs
 * summed as integers. out rows are a multiple of 64 bytes apart and are written in whole vectors. scratch:
 * LINEAR_SCRATCH_BYTES.
 */
export function linearBlocks(
  input: usize,
  inputStride: i32,
  quantized: i32,
  inputGroup: i32,
  inputRun: i32,
  scaleAt: i32,
  sumAt: i32,
  matrixRecord: usize,
  bias: usize,
  out: usize,
  outStride: i32,
  residual: usize,
  residualStride: i32,
  run: i32,
  firstBlock: i32,
  lastBlock: i32,
  rows: i32,
  scratch: usize,
): void {
  const matrix = changetype<Matrix>(matrixRecord);
  const task = changetype<Task>(scratch);
  const K = matrix.inputs;
  const form = quantized ? codeForm(matrix) : 0;
  const bytes = usesBytes(load<f32>(ACTIVATION_MAX));
  // With 8-bit activations a code book's values are raised by 128, so that they are codes of 8 bits.
  const zeroBias = bytes && form == 0 ? 128 : 0;
  task.matrix = matrix;
  task.xStride = inputStride;
  if (quantized) {
    task.scaleAt = scaleAt;
    task.sumAt = sumAt;
    task.sumEnd = sumAt + (((K + inputRun - 1) / inputRun) << 2);
    task.inputGroup = inputGroup;
    task.run = run;
    task.sumStep = ((run + inputRun - 1) / inputRun) << 2;
    task.zero = matrix.zero + zeroBias;
    task.hasOffsets = i32(matrix.offsetKind >= 0);
    // Beside offsets there is no constant zero point but 0: it is written out for each group.
    task.hasZeros = i32(matrix.hasZeros || (task.hasOffsets && task.zero != 0));
  }
  storeConstants(scratch, form);
  for (let b = firstBlock; b < lastBlock; b++) {
    task.block = blockOf(matrix, b);
    for (let m = 0; m < rows; m += ROW_BATCH) {
      task.x = input + <usize>m * inputStride;
      task.rows = min(rows - m, ROW_BATCH);
      memory.fill(scratch + SUMS, 0, <usize>task.rows << 6);
      if (quantized) quantizedBlock(task, form, bytes, zeroBias);
      else floatBlock(task);
      finishRows(
        task,
        b,
        bias,
        out + <usize>m * outStride,
        outStride,
        residual ? residual + <usize>m * residualStride : 0,
        residualStride,
      );
    }
  }
}

/** What inner loops hold in registers: linear-task.ts. */
function storeConstants(scratch: usize, form: i32): void {
  v128.store(scratch, i8x16.splat(15), NIBBLE_MASK);
  v128.store(scratch, i16x8.splat(15), WORD_NIBBLE_MASK);
  v128.store(scratch, i16x8.splat(255), WORD_BYTE_MASK);
  v128.store(scratch, highMaskOf(form), HIGH_MASK);
  v128.store(scratch, i8x16.splat(form == 5 ? 1 : 3), UPPER_MASK);
  v128.store(scratch, i16x8.splat(form == 5 ? 1 : 3), UPPER_WORD_MASK);
  v128.store(scratch, i32x4.splat(MOVED_MASK), HALF_MASK);
  v128.store(scratch, f32x4.splat(BIAS_FACTOR), HALF_FACTOR);
}

function quantizedBlock(task: Task, form: i32, bytes: bool, zeroBias: i32): void {
  const K = task.matrix.inputs;
  const run = task.run;
  // Rows that do not fill a tile are as fast straight from the planes. A run longer than a chunk (one group per output,
  // per-token mode) has no room unpacked.
  const tiled = run > CHUNK_INPUTS ? 0 : task.rows & ~3;
  const chunk = (tiled ? min(CHUNK_RUNS, CHUNK_INPUTS / run) : CHUNK_RUNS) * run;
  for (let first = 0; first < K; first += chunk) {
    task.first = first;
    task.count = min(chunk, K - first);
    task.runs = (task.count + run - 1) / run;
    if (tiled) {
      if (ASC_FEATURE_RELAXED_SIMD && bytes) unpackBytes(task, form);
      else unpackWords(task, form);
      groupParameters(task, zeroBias);
      tileChunk(task, tiled, form, bytes);
    }
    for (let m = tiled; m < task.rows; m++) {
      integerSums(task, m, form, bytes);
      if (scaleSums(task, m, zeroBias)) continue;
      integerSums(task, m, form, bytes);
      scaleSumsOfAnyKind(task, m, zeroBias);
    }
  }
}

/** y = sums (+ bias), then residual + y. */
function finishRows(
  task: Task,
  block: i32,
  bias: usize,
  out: usize,
  outStride: i32,
  residual: usize,
  residualStride: i32,
): void {
  let b0 = f32x4.splat(0);
  let b1 = b0;
  let b2 = b0;
  let b3 = b0;
  if (bias) {
    bias = wholeBias(task, block, bias);
    b0 = v128.load(bias);
    b1 = v128.load(bias, 16);
    b2 = v128.load(bias, 32);
    b3 = v128.load(bias, 48);
  }
  out += <usize>block << 6;
  const hasResidual = residual != 0;
  residual += <usize>block << 6;
  let sums = changetype<usize>(task) + SUMS;
  for (let m = task.rows; m > 0; m--) {
    // Sums start at +0 and so are never −0: adding a bias of +0 changes nothing.
    let y0 = f32x4.add(v128.load(sums), b0);
    let y1 = f32x4.add(v128.load(sums, 16), b1);
    let y2 = f32x4.add(v128.load(sums, 32), b2);
    let y3 = f32x4.add(v128.load(sums, 48), b3);
    if (hasResidual) {
      y0 = f32x4.add(v128.load(residual), y0);
      y1 = f32x4.add(v128.load(residual, 16), y1);
      y2 = f32x4.add(v128.load(residual, 32), y2);
      y3 = f32x4.add(v128.load(residual, 48), y3);
      residual += residualStride;
    }
    v128.store(out, y0);
    v128.store(out, y1, 16);
    v128.store(out, y2, 32);
    v128.store(out, y3, 48);
    out += outStride;
    sums += 64;
  }
}

/** Address of 16 biases: a vector that ends inside the block is copied to scratch first. */
function wholeBias(task: Task, block: i32, bias: usize): usize {
  const left = task.matrix.outputs - (block << 4);
  bias += <usize>block << 6;
  if (left >= 16) return bias;
  const copy = changetype<usize>(task) + CODES;
  memory.fill(copy, 0, 64);
  memory.copy(copy, bias, <usize>left << 2);
  return copy;
}
