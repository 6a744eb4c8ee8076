import { checkBatch } from "../src/executors/check-batch.ts";
import type { PlanRunner, StepBatch } from "../src/executors/executor.ts";
import { BLOCK_TOKENS, type Plan } from "../src/plan/plan.ts";

export interface TextMachine extends PlanRunner {
  /** Rows computed so far. */
  readonly rows: number;
  readonly blocks: number;
  /** Called in the middle of each step. */
  onStep: () => void | Promise<void>;
}

/**
 * A runner without a model: the cache holds token ids, and logits and hidden states are a hash of all ids that the cache
 * says came before. A block that is lost, shared wrongly or too early changes what comes next.
 */
export function textMachine(shape: {
  readonly vocabulary: number;
  readonly maxRows: number;
  readonly maxLogitRows: number;
}): TextMachine {
  const { vocabulary, maxRows, maxLogitRows } = shape;
  const plan = {
    maxRows,
    maxLogitRows,
    vocabularySize: vocabulary,
    cache: { blockBytes: BLOCK_TOKENS * 4 },
    matrices: [{ layout: { N: vocabulary } }],
  } as unknown as Plan;
  let cache = new Int32Array(0);
  let blockCount = 0;
  let rowCount = 0;
  let hashes: number[] = [];
  let stepping = false;
  return {
    plan,
    executor: { name: "reference", kernel: "text", threads: 1, reason: "test", rejected: [] },
    memory: { weightBytes: 0, arenaBytes: 0, cacheBytes: 0 },
    onStep: () => {},
    get rows() {
      return rowCount;
    },
    get blocks() {
      return blockCount;
    },
    ensureBlocks(count) {
      if (stepping) throw new Error("a step is under way");
      if (count <= blockCount) return;
      const larger = new Int32Array(count * BLOCK_TOKENS).fill(-1);
      larger.set(cache);
      cache = larger;
      blockCount = count;
    },
    async step(batch: StepBatch) {
      checkBatch(plan, batch, blockCount);
      stepping = true;
      await this.onStep();
      let row = 0;
      const all: number[] = [];
      for (const { rows, position, blocks } of batch.segments) {
        for (let i = 0; i < rows; i++) {
          const at = position + i;
          cache[blocks[at >> 4]! * BLOCK_TOKENS + (at & 15)] = batch.tokenIds[row++]!;
          let hash = 17;
          for (let t = 0; t <= at; t++) hash = mix(hash, cache[blocks[t >> 4]! * BLOCK_TOKENS + (t & 15)]!);
          all.push(hash);
        }
      }
      rowCount += row;
      hashes = Array.from(batch.logitRows, (r) => all[r]!);
      stepping = false;
      if (batch.logits === false) return new Float32Array(0);
      return Float32Array.from({ length: hashes.length * vocabulary }, (_, i) =>
        logit(hashes[Math.floor(i / vocabulary)]!, i % vocabulary),
      );
    },
    read: () => Float32Array.from({ length: hashes.length * 4 }, (_, i) => logit(hashes[i >> 2]!, i % 4)),
    dispose: async () => {},
  };
}

function mix(hash: number, value: number): number {
  const h = Math.imul(hash ^ (value + 0x9e3779b9), 0x85ebca6b);
  return h ^ (h >>> 13);
}

function logit(hash: number, id: number): number {
  return (mix(hash, id) >>> 8) / 2 ** 22;
}
