import { decoderTensors, reordered, reorderedVector } from "../src/convert/decoder-tensors.ts";
import type { GgufFile } from "../src/formats/gguf/open-gguf.ts";
import type { HuggingFaceFolder } from "../src/formats/safetensors/hugging-face-folder.ts";
import { openModel } from "../src/models/open-model.ts";
import { ggufNames, huggingFaceNames } from "../src/models/tensor-names.ts";
import { matrixRowToFloat } from "../src/weights/unpack.ts";

export type ModelFile = GgufFile | HuggingFaceFolder;

/** Every weight of a model by transformers' names and in its order of rows, norms as they are used. */
export async function modelWeightsOf(file: ModelFile): Promise<Map<string, Float32Array>> {
  const { config, graph, weights, architecture } = await openModel(file);
  const isGguf = "metadata" in file;
  const embed = graph.ops.find(({ op }) => op === "embed") as { weight: string };
  const embedding = isGguf ? "model.embed_tokens.weight" : embed.weight;
  const names = huggingFaceNames((name) => name === embedding, config.postNorms);
  const own = decoderTensors(config, isGguf ? ggufNames : names);
  const turned = isGguf && architecture.name === "llama";
  const found = new Map<string, Float32Array>();
  for (const [i, { name, kind, turns }] of decoderTensors(config, names).entries()) {
    if (kind !== "matrix") {
      const values = await weights.vector(own[i]!.name);
      found.set(name, turned && turns ? reorderedVector(values, config.headSize, "halves") : values);
      continue;
    }
    const source = weights.matrix(own[i]!.name);
    const { N, K, readRows, inputOrder } = turned && turns ? reordered(source, config.headSize, "halves") : source;
    const rows = await readRows(0, N);
    const values = new Float32Array(N * K);
    const row = new Float32Array(K);
    for (let n = 0; n < N; n++) {
      matrixRowToFloat(rows, n, row);
      for (let j = 0; j < K; j++) values[n * K + (inputOrder ? inputOrder[j]! : j)] = row[j]!;
    }
    found.set(name, values);
  }
  return found;
}

/** The same as a file of a format has them, by the names and in the order of rows it uses. */
export async function weightsAsIn(format: "folder" | "gguf", file: ModelFile): Promise<Map<string, Float32Array>> {
  const { config, architecture } = await openModel(file);
  const weights = await modelWeightsOf(file);
  const names = huggingFaceNames((name) => weights.has(name), config.postNorms);
  const [isLlama, isGemma] = [["llama", "mistral"].includes(architecture.name), architecture.name === "gemma3"];
  const own = decoderTensors(config, format === "gguf" ? ggufNames : names);
  return new Map(
    decoderTensors(config, names).map(({ name, kind, turns }, i) => {
      const values = weights.get(name)!;
      if (format === "folder") return [name, kind === "norm" && isGemma ? values.map((value) => value - 1) : values];
      const width = values.length / ((/q_proj/.test(name) ? config.heads : config.kvHeads) * config.headSize);
      return [own[i]!.name, turns && isLlama ? rowsOfNeighbours(values, width, config.headSize) : values];
    }),
  );
}

/** Row 2j + s of a head is row s · half + j of what it was. */
function rowsOfNeighbours(values: Float32Array, width: number, headSize: number): Float32Array {
  const out = new Float32Array(values.length);
  for (let row = 0; row * width < values.length; row++) {
    const [head, at] = [row - (row % headSize), row % headSize];
    const from = head + (at % 2) * (headSize / 2) + Math.floor(at / 2);
    out.set(values.subarray(from * width, (from + 1) * width), row * width);
  }
  return out;
}

/** The first weight that differs, as text, or undefined; zeros may change their sign. */
export function firstDifference(a: Map<string, Float32Array>, b: Map<string, Float32Array>): string | undefined {
  for (const [name, values] of a) {
    const others = b.get(name);
    if (others?.length !== values.length) return `${name}: ${values.length} weights and ${others?.length}`;
    const at = values.findIndex((value, i) => value !== others[i]);
    if (at >= 0) return `${name}[${at}]: ${values[at]} and ${others[at]}`;
  }
  return undefined;
}
