import type { GgufFile } from "../formats/gguf/open-gguf.ts";
import type { HuggingFaceFolder } from "../formats/safetensors/hugging-face-folder.ts";
import type { OpenModel } from "../models/open-model.ts";
import type { Plan } from "../plan/plan.ts";

/** Bytes of a model's weights and what they come to for each weight, everything counted: scales, zeros, padding, norms. */
export interface WeightSize {
  readonly bytes: number;
  readonly bitsPerWeight: number;
  /** The same for the layers alone, without embedding and output matrix. */
  readonly layerBitsPerWeight: number;
}

export interface ModelSize {
  /** Numbers in all matrices and vectors that a step uses; a tied output matrix counts once. */
  readonly parameters: number;
  /** As the file has them. */
  readonly file: WeightSize;
  /** As they stand in memory. */
  readonly packed: WeightSize;
}

const IN_LAYER = /(^|\.)(blk|layers)\.\d+\./;

/** Counts the real bytes of a model. Tensors that no step uses do not count. */
export function modelSize(file: GgufFile | HuggingFaceFolder, model: OpenModel, plan: Plan): ModelSize {
  const parameters = new Count();
  const packed = new Count();
  for (const { name, layout } of plan.matrices) {
    parameters.add(name, layout.N * layout.K);
    packed.add(name, layout.byteLength);
  }
  for (const { name, length } of plan.vectors) {
    parameters.add(name, length);
    packed.add(name, 4 * length);
  }
  const unused = new Set(model.weights.unused);
  const inFile = new Count();
  for (const { name, byteLength } of file.tensors.values()) {
    // A quantised matrix goes by the name that its floats would have.
    const isUnused = unused.has(name) || unused.has(name.replace(/\.[^.]*$/, ".weight"));
    if (!isUnused) inFile.add(name, byteLength);
  }
  return { parameters: parameters.all, file: weightSize(inFile, parameters), packed: weightSize(packed, parameters) };
}

class Count {
  all = 0;
  inLayers = 0;

  add(name: string, amount: number): void {
    this.all += amount;
    if (IN_LAYER.test(name)) this.inLayers += amount;
  }
}

function weightSize(bytes: Count, parameters: Count): WeightSize {
  return {
    bytes: bytes.all,
    bitsPerWeight: (8 * bytes.all) / parameters.all,
    layerBitsPerWeight: (8 * bytes.inLayers) / parameters.inLayers,
  };
}
