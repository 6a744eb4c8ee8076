// The kernels alone, for their tests and benches.
export { embedRow } from "./embed";
export { LINEAR_SCRATCH_BYTES, linearBlocks } from "./linear";
export { packRows } from "./pack";
export { quantizeRow } from "./quantize";
