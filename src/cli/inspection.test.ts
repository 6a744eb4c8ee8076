import { readFile } from "node:fs/promises";
import { describe, expect, it } from "vitest";
import { referenceExecutor } from "../executors/reference/reference.ts";
import { openGguf } from "../formats/gguf/open-gguf.ts";
import { memorySource } from "../formats/memory-source.ts";
import { examine } from "./inspection.ts";
import { runSelfTest, sameBits } from "./self-test.ts";

const model = new URL("../../test/golden/gemma3-q4_0.gguf", import.meta.url);

describe("inspection", () => {
  it("tells memory and encodings, and reads no weights", async () => {
    const bytes = await readFile(model);
    const whole = memorySource(bytes);
    const first = Math.min(...[...(await openGguf(whole)).tensors.values()].map(({ offset }) => offset));
    const withoutWeights = bytes.fill(0xff, first);
    const { refusal, tensors, memory, config } = await examine(await openGguf(memorySource(withoutWeights)), {
      context: 64,
    });
    expect(refusal).toBeUndefined();
    expect(config?.layers).toHaveLength(6);
    const embedding = tensors.find(({ name }) => name === "token_embd.weight");
    expect(embedding).toMatchObject({ type: "Q8_0", shape: [512, 64], packed: "8-bit, f16 scales per 32" });
    const sum = tensors.reduce((total, { packedBytes = 0 }) => total + packedBytes, 0);
    expect(memory!.totalBytes).toBe(sum + memory!.cacheBytes + memory!.arenaBytes);
  });
});

describe("the executors' small test", () => {
  it("gives finite logits, the same each time", async () => {
    const [a, b] = [await runSelfTest(referenceExecutor, {}), await runSelfTest(referenceExecutor, {})];
    expect(a!.logits.every(Number.isFinite)).toBe(true);
    expect(new Set(a!.logits).size).toBeGreaterThan(40);
    expect(sameBits(a!.logits, b!.logits)).toBe(true);
    b!.logits[3] = -b!.logits[3]!;
    expect(sameBits(a!.logits, b!.logits)).toBe(false);
  });
});
