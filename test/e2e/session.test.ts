import { spawn } from "node:child_process";
import { existsSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { describe, expect, it } from "vitest";
import { loadModel, restoreSession } from "../../src/index.ts";

const path = (name: string): string => fileURLToPath(new URL(`../../${name}`, import.meta.url));
const built = existsSync(path("dist/session/session-file.js"));
const KILLS = 8;

describe.skipIf(!built)(`a session that is saved${built ? "" : " (skipped: dist/ is not built)"}`, () => {
  it("is whole, the old one or the new, whenever the process is killed", async () => {
    const folder = await mkdtemp(join(tmpdir(), "halfbyte-session-"));
    const file = join(folder, "talk.session");
    const program = `
      const { loadModel, saveSession } = await import(${JSON.stringify(pathToFileURL(path("dist/index.js")).href)});
      const model = await loadModel(${JSON.stringify(path("test/golden/llama-q4_0.gguf"))}, { executor: "wasm", threads: 1 });
      const { session } = model.complete([1, 2, 3], { temperature: 1 });
      for (let n = 1; ; n++) {
        await saveSession(${JSON.stringify(file)}, model, { ...session, tokens: new Int32Array(2000 + n).fill(7) });
        console.log("saved");
      }`;
    const model = await loadModel(new URL("../golden/llama-q4_0.gguf", import.meta.url), { executor: "wasm" });
    try {
      for (let kill = 0; kill < KILLS; kill++) {
        const child = spawn(process.execPath, ["--input-type=module", "-e", program]);
        let saves = 0;
        // Killed at the nth save, and each time a little later in it.
        child.stdout.on("data", () => {
          if (++saves === 3) setTimeout(() => child.kill("SIGKILL"), kill);
        });
        await new Promise((resolve) => child.on("close", resolve));
        expect(saves).toBeGreaterThanOrEqual(3);
        const { tokens } = await restoreSession(file, model);
        expect(tokens.length).toBeGreaterThan(2000);
        expect(new Set(tokens)).toEqual(new Set([7]));
      }
    } finally {
      await model.dispose();
      await rm(folder, { recursive: true });
    }
  });
});
