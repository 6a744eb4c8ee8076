// From nothing to the first token with node-llama-cpp: `node node-llama-cpp.mjs MODEL [best]`. "best": what it offers to
// start fast with: no search for a GPU, a small context.
import { createRequire } from "node:module";
import { pathToFileURL } from "node:url";
import { report } from "./report-start.mjs";

const [modelPath, best] = process.argv.slice(2);
const rivals = createRequire(new URL("../rivals/package.json", import.meta.url));
const { getLlama } = await import(pathToFileURL(rivals.resolve("node-llama-cpp")).href);
const importedMs = performance.now();
const llama = await getLlama(best ? { gpu: false, build: "never", maxThreads: 2, logLevel: "error" } : {});
const model = await llama.loadModel({ modelPath });
const context = await model.createContext(best ? { contextSize: 1024, threads: { ideal: 2, min: 2 } } : {});
const sequence = context.getSequence();
const loadedMs = performance.now();
const prompt = model.tokenize("The sky is blue because", false);
for await (const token of sequence.evaluate(prompt, { temperature: 0 })) {
  console.log(model.detokenize([token]));
  break;
}
report({ importedMs, loadedMs, kernel: `llama.cpp, ${context.idealThreads} threads` });
process.exit();
