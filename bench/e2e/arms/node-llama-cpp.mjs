import { createRequire } from "node:module";
import { pathToFileURL } from "node:url";

const rivals = createRequire(new URL("../../rivals/package.json", import.meta.url));
const { getLlama } = await import(pathToFileURL(rivals.resolve("node-llama-cpp")).href);

/**
 * Opens a model in node-llama-cpp, through the lowest level it has.
 * @type {import("./arm").OpenArm}
 */
export async function open(modelPath, { threads, contextLength }) {
  const llama = await getLlama({ gpu: false, build: "never", maxThreads: threads, logLevel: "error" });
  const loaded = await llama.loadModel({ modelPath });
  const context = await loaded.createContext({ contextSize: contextLength, threads: { ideal: threads, min: threads } });
  const sequence = context.getSequence();
  return {
    description: `llama.cpp ${llama.llamaCppRelease.release}, ${context.idealThreads} threads`,
    async generate(prompt, count) {
      const tokens = loaded.tokenize(prompt);
      await sequence.clearHistory();
      const began = performance.now();
      let first = 0;
      const answer = [];
      for await (const token of sequence.evaluate(tokens, { temperature: 0, yieldEogToken: true })) {
        first ||= performance.now();
        answer.push(token);
        if (answer.length === count) break;
      }
      const ended = performance.now();
      return {
        text: loaded.detokenize(answer),
        promptTokens: tokens.length,
        promptMs: first - began,
        decodedTokens: answer.length - 1,
        decodeMs: ended - first,
      };
    },
    close: () => llama.dispose(),
  };
}
