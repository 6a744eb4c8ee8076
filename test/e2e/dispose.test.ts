import { execFileSync } from "node:child_process";
import { existsSync } from "node:fs";
import { fileURLToPath, pathToFileURL } from "node:url";
import { describe, expect, it } from "vitest";

const path = (name: string): string => fileURLToPath(new URL(`../../${name}`, import.meta.url));
const built = existsSync(path("dist/index.js"));

describe.skipIf(!built)(`a process of its own${built ? "" : " (skipped: dist/ is not built)"}`, () => {
  it.each([1, 2])("can await dispose during an answer when nothing else holds it, %i threads", (threads) => {
    const program = `
      const { loadModel } = await import(${JSON.stringify(pathToFileURL(path("dist/index.js")).href)});
      const model = await loadModel(${JSON.stringify(path("test/golden/llama-q4_0.gguf"))}, { threads: ${threads}, executor: "wasm" });
      const answers = [1, 2].map((id) => model.complete([id, 5, 9], { ignoreEnd: true }).result.catch((error) => error.code));
      await new Promise((resolve) => setTimeout(resolve, 20));
      await model.dispose();
      console.log("disposed", ...(await Promise.all(answers)));`;
    const output = execFileSync(process.execPath, ["--input-type=module", "-e", program], { encoding: "utf8" });
    expect(output).toMatch(/^disposed/);
  });
});
