import { join } from "node:path";
import { nativeExecutor } from "../../dist/executors/native/native-executor.js";
import { openGguf } from "../../dist/formats/gguf/open-gguf.js";
import { openFileSource } from "../../dist/formats/node-file-source.js";
import { openHuggingFaceFolder } from "../../dist/formats/safetensors/hugging-face-folder.js";
import { openModel } from "../../dist/models/open-model.js";
import { blocksFor } from "../../dist/plan/cache-layout.js";

/** Rows of a prefill step, as `loadModel` has them. */
const MAX_ROWS = 128;

/**
 * Halfbyte's native executor.
 * @type {import("./arm").OpenStepArm}
 */
export async function open({ model: path, threads, sequences, context }) {
  const source = path.endsWith(".gguf")
    ? await openGguf(await openFileSource(path))
    : await openHuggingFaceFolder((name) => openFileSource(join(path, name)).catch(() => undefined));
  const model = await openModel(source);
  const plan = model.compile({ maxRows: Math.max(MAX_ROWS, sequences), maxLogitRows: sequences });
  const runner = await nativeExecutor.load(plan, model.weights, { threads });
  await source.close();
  const blocksEach = blocksFor(context);
  runner.ensureBlocks(blocksEach * sequences);
  const blocks = Array.from({ length: sequences }, (_, s) =>
    Int32Array.from({ length: blocksEach }, (_, block) => s * blocksEach + block),
  );
  const token = (position) => 3 + ((position * 7919) % (plan.vocabularySize - 3));
  const positions = [];

  const timed = async (batch) => {
    const began = performance.now();
    await runner.step(batch);
    return performance.now() - began;
  };
  const run = async (sequence, tokens) => {
    let ms = 0;
    for (let first = 0; first < tokens; first += MAX_ROWS) {
      const rows = Math.min(MAX_ROWS, tokens - first);
      ms += await timed({
        tokenIds: Int32Array.from({ length: rows }, (_, i) => token(first + i)),
        segments: [{ rows, position: first, blocks: blocks[sequence] }],
        logitRows: first + rows === tokens ? Int32Array.of(rows - 1) : new Int32Array(0),
      });
    }
    return ms;
  };
  return {
    description: `Halfbyte ${runner.executor.kernel}, ${runner.executor.threads} threads`,
    weightBytes: runner.memory.weightBytes,
    prefill: (tokens) => run(0, tokens),
    async fill(count, tokens) {
      positions.length = 0;
      for (let s = 0; s < count; s++) {
        if (tokens) await run(s, tokens);
        positions.push(tokens);
      }
    },
    decode: () =>
      timed({
        tokenIds: Int32Array.from(positions, (position) => token(position)),
        segments: positions.map((_, s) => ({ rows: 1, position: positions[s]++, blocks: blocks[s] })),
        logitRows: Int32Array.from(positions, (_, row) => row),
      }),
    close: () => runner.dispose(),
  };
}
