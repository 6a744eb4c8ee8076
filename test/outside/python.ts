import { execFile, spawnSync } from "node:child_process";
import { existsSync } from "node:fs";
import { mkdir, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { cacheFolder } from "../../src/hub/cache-folder.ts";
import { withLock } from "../../src/hub/lock.ts";

const run = promisify(execFile);

/** Versions are pinned: what is tested is this project, not theirs. compressed-tensors 0.12 works with torch 1.13 on. */
const PACKAGES = ["gguf==0.19.0", "safetensors==0.8.0", "tokenizers==0.23.3"];
/** What compressed-tensors is imported with; torch itself is the system's, as other builds have gigabytes. */
const FOR_COMPRESSED_TENSORS = ["transformers==5.24.0", "pydantic>=2", "frozendict", "loguru"];
const COMPRESSED_TENSORS = "compressed-tensors==0.12.2";

/** Pythons that may have the system's torch. */
const PYTHONS = ["/usr/bin/python3", "python3"];
const INSTALL_TIMEOUT_MS = 300_000;

export interface OutsidePython {
  readonly hasTorch: boolean;
  /** Runs a script of this folder and returns what it prints; throws with what it says where it fails. */
  run(script: string, args: readonly string[], input?: string): Promise<string>;
}

/**
 * A virtual environment in the cache with the packages that other software reads models by, made once. A reason where it
 * cannot be had: no Python, or no network the first time.
 */
export async function outsidePython(): Promise<OutsidePython | string> {
  const python = PYTHONS.find(hasTorchModule) ?? PYTHONS.find((each) => works(each, "import venv"));
  if (!python) return "there is no Python 3 with venv";
  const hasTorch = hasTorchModule(python);
  const folder = join(cacheFolder(), "test-python", hasTorch ? "with-torch-1" : "without-torch-1");
  const own = join(folder, "bin", "python");
  const done = join(folder, "done");
  try {
    await mkdir(join(folder, ".."), { recursive: true });
    await withLock(`${folder}.lock`, async () => {
      if (existsSync(done)) return;
      if (process.env.HALFBYTE_OFFLINE === "1") throw new Error("HALFBYTE_OFFLINE=1 keeps tests off the network");
      await rm(folder, { recursive: true, force: true });
      await run(python, ["-m", "venv", ...(hasTorch ? ["--system-site-packages"] : []), folder]);
      const install = (...args: string[]) =>
        run(own, ["-m", "pip", "install", "-q", ...args], { timeout: INSTALL_TIMEOUT_MS });
      await install(...PACKAGES, ...(hasTorch ? FOR_COMPRESSED_TENSORS : ["numpy"]));
      if (hasTorch) await install("--no-deps", COMPRESSED_TENSORS);
      await writeFile(done, "");
    });
  } catch (error) {
    return `its packages cannot be installed: ${String((error as Error).message).split("\n")[0]}`;
  }
  return {
    hasTorch,
    run: async (script, args, input) => {
      const path = fileURLToPath(new URL(script, import.meta.url));
      const running = run(own, [path, ...args], { maxBuffer: 1 << 28 });
      running.child.stdin?.end(input ?? "");
      return (await running).stdout;
    },
  };
}

function hasTorchModule(python: string): boolean {
  return works(python, "import torch, venv");
}

function works(python: string, code: string): boolean {
  return spawnSync(python, ["-c", code], { stdio: "ignore" }).status === 0;
}
