// From nothing to the first token with Halfbyte: `node halfbyte.mjs MODEL`.
import { report } from "./report-start.mjs";

const { loadModel } = await import("halfbyte");
const importedMs = performance.now();
const model = await loadModel(process.argv[2]);
const loadedMs = performance.now();
for await (const text of model.complete("The sky is blue because", { maxTokens: 1 })) console.log(text);
report({ importedMs, loadedMs, ...model.memory, kernel: model.info.executor.kernel });
await model.dispose();
