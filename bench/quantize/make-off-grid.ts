// Writes a float model to quantise, where none is at hand: `node bench/run.mjs bench/quantize/make-off-grid.ts MODEL.gguf OUT`.
// See off-grid.ts; weights are rounded to bf16, as released models are, and OUT is the reference, not MODEL.
import { planConversion } from "../../src/convert/convert.ts";
import { openOutput } from "../../src/convert/node-output.ts";
import { openGguf } from "../../src/formats/gguf/open-gguf.ts";
import { openFileSource } from "../../src/formats/node-file-source.ts";
import { openModel } from "../../src/models/open-model.ts";
import { offGrid } from "./off-grid.ts";

const SEED = 7;

export async function main(): Promise<void> {
  const [input, output] = process.argv.slice(2);
  if (!input || !output) throw new Error("usage: make-off-grid.ts MODEL.gguf OUT");
  const file = await openGguf(await openFileSource(input));
  const model = await openModel(file);
  const weights = await offGrid(model, SEED);
  const vectors = new Map<string, Float32Array>();
  for (const name of model.weights.vectorLengths.keys()) vectors.set(name, await weights.vector(name));
  const changes = {
    matrix: ({ name }: { name: string }) => weights.matrix(name),
    vector: (name: string) => vectors.get(name)?.map((value) => Math.fround(value - 1) + 1),
  };
  const conversion = await planConversion(file, { format: "folder", encoding: "bf16" }, { changes, lossy: true });
  if (conversion.format !== "folder") throw new Error("not a folder");
  const out = await openOutput(output, "folder", { force: true });
  await conversion.write(out.folder);
  await out.commit();
  await file.close();
}
