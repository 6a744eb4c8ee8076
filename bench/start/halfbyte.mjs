// From nothing to the first token with Halfbyte: `node halfbyte.mjs MODEL EXECUTOR`.
import { report } from "./report-start.mjs";

const { loadModel } = await import("halfbyte");
const importedMs = performance.now();
const model = await loadModel(process.argv[2], { executor: process.argv[3] });
const loadedMs = performance.now();
const { executor } = model.info;
for await (const text of model.complete("The sky is blue because", { maxTokens: 1 })) console.log(text);
report({
  importedMs,
  loadedMs,
  ...model.memory,
  kernel: `${executor.name} ${executor.kernel}, ${executor.threads} threads`,
});
await model.dispose();
