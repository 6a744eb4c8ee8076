// Prints, as JSON, the tokens that llama.cpp gives greedily: `node greedy-tokens.mjs INSTALLED JOBS`, JOBS being JSON of
// [{ model, prompt, count }].
import { createRequire } from "node:module";
import { pathToFileURL } from "node:url";

const [installed, jobs] = process.argv.slice(2);
const { getLlama } = await import(pathToFileURL(createRequire(`${installed}/`).resolve("node-llama-cpp")).href);
const llama = await getLlama({ gpu: false, build: "never", maxThreads: 1, logLevel: "error", progressLogs: false });
const answers = [];
for (const { model: modelPath, prompt, count } of JSON.parse(jobs)) {
  const model = await llama.loadModel({ modelPath });
  const context = await model.createContext({ contextSize: 256, threads: 1 });
  const tokens = [];
  for await (const token of context.getSequence().evaluate(prompt, { temperature: 0, yieldEogToken: true })) {
    tokens.push(token);
    // It would go on for ever.
    if (tokens.length === count) break;
  }
  answers.push(tokens);
  await model.dispose();
}
console.log(JSON.stringify(answers));
process.exit();
