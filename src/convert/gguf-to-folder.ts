import { HalfbyteError } from "../errors.ts";
import type { GgufFile } from "../formats/gguf/open-gguf.ts";
import { ConfigReader } from "../models/config-reader.ts";
import { openModel } from "../models/open-model.ts";
import { architectureOfModelType } from "../models/registry.ts";
import { ggufNames, huggingFaceNames } from "../models/tensor-names.ts";
import type { Conversion } from "./convert.ts";
import { decoderTensors, reordered, reorderedVector } from "./decoder-tensors.ts";
import { measured } from "./file-facts.ts";
import { configJson } from "./hugging-face-json.ts";
import { vectorSource } from "./outgoing.ts";
import { type FolderItem, type FolderTarget, type PlanOptions, planFolder } from "./plan-folder.ts";
import { checkSameDecoder } from "./same-decoder.ts";
import { tokenizerFiles } from "./tokenizer-to-folder.ts";
import { writeFolder } from "./write-folder.ts";

/**
 * A GGUF file as a folder: tensors under transformers' names, rows of q and k in its order, norms as it has them,
 * config.json and the tokenizer's files made of the keys. What was made is read back and compared. Throws ERR_UNSUPPORTED
 * where a folder cannot say what the file does, and as `planConversion`.
 */
export async function ggufToFolder(file: GgufFile, target: FolderTarget, options: PlanOptions): Promise<Conversion> {
  const model = await openModel(file);
  const { config, architecture } = model;
  const json = configJson(model.architecture.name, config, file.metadata, target);
  const reader = new ConfigReader("config.json to be", (key) => json[key]);
  const again = architectureOfModelType(reader.text("model_type"), "config.json").fromHuggingFace(reader);
  checkSameDecoder(config, again, "config.json");
  const others = await tokenizerFiles(file.metadata, json);
  const names = huggingFaceNames((name) => name.startsWith("model."), config.postNorms);
  const to = decoderTensors(config, names);
  const turned = architecture.name === "llama";
  const items: FolderItem[] = [];
  for (const [i, { name: source, kind, turns }] of decoderTensors(config, ggufNames).entries()) {
    const { name } = to[i]!;
    if (kind === "matrix") {
      const own = model.weights.matrix(source);
      const matrix = options.changes ? options.changes.matrix(own) : own;
      items.push({ name, matrix: turned && turns ? reordered(matrix, config.headSize, "halves") : matrix });
      continue;
    }
    let values = options.changes?.vector(source) ?? (await model.weights.vector(source));
    if (turned && turns) values = reorderedVector(values, config.headSize, "halves");
    if (kind === "norm" && again.normsPlusOne) values = lessOne(values, source);
    items.push({ name, matrix: vectorSource(source, values), shape: [values.length] });
  }
  const plan = await planFolder(items, target, options);
  return {
    format: "folder",
    ...measured(plan.outgoing),
    rounded: plan.rounded,
    notes: [...model.notes, ...plan.notes],
    write: (folder, writeOptions) => writeFolder(folder, plan, json, others, writeOptions),
  };
}

/** Norm weights that transformers adds 1 to. */
function lessOne(values: Float32Array, name: string): Float32Array {
  const out = values.map((value) => value - 1);
  const at = out.findIndex((value, i) => Math.fround(value + 1) !== values[i]);
  if (at < 0) return out;
  throw new HalfbyteError("ERR_UNSUPPORTED", "less 1, which a folder of this architecture has, a weight is inexact", {
    place: `${name}[${at}]`,
    got: String(values[at]),
  });
}
