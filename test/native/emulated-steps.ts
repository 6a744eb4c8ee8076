import { readFileSync, writeFileSync } from "node:fs";
import { nativeExecutor } from "../../src/executors/native/native-executor.ts";
import { referenceBits, runScript, script } from "../conformance/conformance.ts";
import { MATRIX_KINDS, type RandomModel, randomModel } from "../random-plan.ts";

/** One small model of each kind of matrix, in turn in each activation mode. */
function models(): RandomModel[] {
  const modes = ["a8", "a16", "a8-per-token"] as const;
  return MATRIX_KINDS.map((kind, i) =>
    randomModel({
      seed: i + 1,
      kinds: [kind],
      layers: 1,
      compile: { maxRows: 50, maxLogitRows: 3, activations: modes[i % 3]!, cacheType: i % 2 ? "f32" : "f16" },
    }),
  );
}

/** `record FILE`: the reference's bits. `check FILE`: every kernel this CPU can run must give them. */
const [command, path] = process.argv.slice(2);
if (command === "record") {
  const bits: number[][][] = [];
  for (const model of models()) bits.push((await referenceBits(model, script(model.plan, 1))).map((step) => [...step]));
  writeFileSync(path!, JSON.stringify(bits));
} else {
  const expected: number[][][] = JSON.parse(readFileSync(path!, "utf8"));
  const told: string[] = [];
  for (const { name: kernel, unavailable: reason } of await nativeExecutor.kernels()) {
    if (reason) {
      told.push(`${kernel}: ${reason}`);
      continue;
    }
    let steps = 0;
    for (const [i, model] of models().entries()) {
      const runner = await nativeExecutor.load(model.plan, model.weights, { kernel, threads: 2 });
      for (const [s, bits] of (await runScript(runner, script(model.plan, 1))).entries()) {
        if (!bits.every((x, at) => x === expected[i]![s]![at])) throw new Error(`${kernel}: other bits in model ${i}`);
        steps++;
      }
      await runner.dispose();
    }
    told.push(`${kernel}: the reference's bits in ${steps} steps`);
  }
  console.log(told.join("\n"));
}
