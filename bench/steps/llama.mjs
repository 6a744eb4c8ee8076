import { createRequire } from "node:module";
import { pathToFileURL } from "node:url";

const rivals = createRequire(new URL("../rivals/package.json", import.meta.url));
const { getLlama } = await import(pathToFileURL(rivals.resolve("node-llama-cpp")).href);

/** llama.cpp's own default for a batch that is computed at once (n_ubatch). */
const MAX_ROWS = 512;

/**
 * llama.cpp through the lowest level of node-llama-cpp: its calls to llama_decode, with nothing of its JavaScript between.
 * @type {import("./arm").OpenStepArm}
 */
export async function open({ model: modelPath, threads, sequences, context: contextSize }) {
  const llama = await getLlama({ gpu: false, build: "never", maxThreads: threads, logLevel: "error" });
  const { AddonModel, AddonContext } = llama._bindings;
  const model = new AddonModel(modelPath, { addonExports: llama._bindings, gpuLayers: 0, useMmap: true });
  if (!(await model.init())) throw new Error("llama.cpp cannot load this model");
  const context = new AddonContext(model, {
    contextSize: contextSize * sequences,
    batchSize: Math.max(MAX_ROWS, sequences),
    sequences,
    flashAttention: "auto",
    threads,
  });
  if (!(await context.init())) throw new Error("llama.cpp cannot make a context");
  context.setThreads(threads);
  const vocabulary = 32_000;
  const token = (position) => 3 + ((position * 7919) % (vocabulary - 3));
  const positions = [];

  const timed = async (parts) => {
    context.initBatch(parts.reduce((sum, { tokens }) => sum + tokens.length, 0));
    for (const { sequence, position, tokens, wanted } of parts)
      context.addToBatch(sequence, position, tokens, wanted ? Uint32Array.of(tokens.length - 1) : new Uint32Array(0));
    const began = performance.now();
    await context.decodeBatch();
    return performance.now() - began;
  };
  const run = async (sequence, count) => {
    context.disposeSequence(sequence);
    let ms = 0;
    for (let position = 0; position < count; position += MAX_ROWS) {
      const tokens = Uint32Array.from({ length: Math.min(MAX_ROWS, count - position) }, (_, i) => token(position + i));
      ms += await timed([{ sequence, position, tokens, wanted: position + tokens.length === count }]);
    }
    return ms;
  };
  return {
    description: `llama.cpp ${llama.llamaCppRelease.release}, ${context.getThreads()} threads; ${llama._bindings.systemInfo()}`,
    prefill: (tokens) => run(0, tokens),
    async fill(count, tokens) {
      positions.length = 0;
      for (let sequence = 0; sequence < count; sequence++) {
        if (tokens) await run(sequence, tokens);
        else context.disposeSequence(sequence);
        positions.push(tokens);
      }
    },
    decode: () =>
      timed(
        positions.map((position, sequence) => {
          positions[sequence]++;
          return { sequence, position, tokens: Uint32Array.of(token(position)), wanted: true };
        }),
      ),
    close: () => llama.dispose(),
  };
}
