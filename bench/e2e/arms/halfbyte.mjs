import { loadModel } from "halfbyte";

/**
 * Opens a model in Halfbyte, in a page or in Node.
 * @type {import("./arm").OpenArm}
 */
export async function open(model, { threads, contextLength }) {
  const loaded = await loadModel(model, { threads, contextLength, executor: "wasm" });
  const { executor } = loaded.info;
  return {
    description: `${executor.name} ${executor.kernel}, ${executor.threads} threads`,
    weightBytes: loaded.memory.weightBytes,
    async generate(prompt, count) {
      const { text, tokens, usage, timings } = await loaded.complete(prompt, { maxTokens: count, ignoreEnd: true })
        .result;
      return {
        text,
        promptTokens: usage.promptTokens - usage.cachedTokens,
        promptMs: timings.firstTokenMs,
        decodedTokens: tokens.length - 1,
        decodeMs: tokens.length > 1 ? ((tokens.length - 1) / timings.decodeTokensPerSecond) * 1000 : 0,
      };
    },
    close: () => loaded.dispose(),
  };
}
