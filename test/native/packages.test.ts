import { execFile } from "node:child_process";
import { existsSync } from "node:fs";
import { mkdir, mkdtemp, readdir, readFile, rm, symlink } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { nativeExecutor } from "../../src/executors/native/native-executor.ts";

const run = promisify(execFile);
const project = (path: string): string => fileURLToPath(new URL(`../../${path}`, import.meta.url));
const missing = (await nativeExecutor.unavailable()) ?? (existsSync(project("dist/index.js")) ? undefined : "no dist");
const { HALFBYTE_ADDON: _, ...environment } = process.env;

/** The packages as npm would lay them out, in a project of their own. */
describe.skipIf(missing ?? process.env.HALFBYTE_ADDON)("installed packages (skipped where none is built)", () => {
  let folder: string;
  let platform: string;
  const program = `
    const { loadModel } = await import("halfbyte");
    const { readFile } = await import("node:fs/promises");
    const model = await loadModel(new Uint8Array(await readFile(process.argv[1])));
    console.log(JSON.stringify(model.info.executor));
    await model.dispose();`;
  const executor = async (): Promise<{ name: string; rejected: { kernel: string; reason: string }[] }> => {
    const args = ["--input-type=module", "-e", program, project("test/golden/llama-q4_0.gguf")];
    const { stdout } = await run(process.execPath, args, { cwd: folder, env: environment });
    return JSON.parse(stdout);
  };

  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), "halfbyte-packages-"));
    const modules = join(folder, "node_modules");
    await mkdir(modules);
    await run(process.execPath, [project("tools/npm-packages.mjs"), modules]);
    platform = (await readdir(modules)).find((name) => name.startsWith("halfbyte-"))!;
    for (const name of Object.keys(JSON.parse(await readFile(project("package.json"), "utf8")).dependencies)) {
      if (name.includes("/")) await mkdir(join(modules, name.split("/")[0]!), { recursive: true });
      await symlink(project(`node_modules/${name}`), join(modules, name));
    }
  });
  afterAll(() => rm(folder, { recursive: true, force: true }));

  it("name every platform's package, at their own version, with what lets npm choose", async () => {
    const read = async (path: string) => JSON.parse(await readFile(path, "utf8"));
    const main = await read(join(folder, "node_modules/halfbyte/package.json"));
    for (const name of await readdir(project("npm"), { withFileTypes: true })) {
      if (!name.isDirectory()) continue;
      const manifest = await read(project(`npm/${name.name}/package.json`));
      expect(main.optionalDependencies[manifest.name]).toBe(main.version);
      expect(manifest.name).toBe(`halfbyte-${name.name}`);
      expect(manifest.os.length * manifest.cpu.length).toBe(1);
      if (manifest.os[0] === "linux") expect(manifest.libc).toHaveLength(1);
    }
  });

  it("run the native executor of the platform's package", async () => {
    expect((await executor()).name).toBe("native");
  });

  it("run on WebAssembly without it, and say where it was looked for", async () => {
    await rm(join(folder, "node_modules", platform), { recursive: true });
    const { name, rejected } = await executor();
    expect(name).toBe("wasm");
    expect(rejected[0]).toMatchObject({ kernel: "native" });
    expect(rejected[0]!.reason).toMatch(
      new RegExp(`^its addon does not load.*\\n.*build.*\\n${platform}/.*npm install`),
    );
  });
});
