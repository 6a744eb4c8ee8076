import { spawn, spawnSync } from "node:child_process";
import { existsSync, rmSync } from "node:fs";
import { fileURLToPath } from "node:url";

const CACHE = fileURLToPath(new URL("../../node_modules/.cache/python/", import.meta.url));

export interface PythonEnded {
  readonly code: number | null;
  readonly output: string;
}

export type Python = (args: readonly string[], environment?: Record<string, string>) => Promise<PythonEnded>;

/**
 * Python with packages (`name==version`), installed into a cache folder where they are not yet; undefined, with a line
 * that says why, where there is no Python or they cannot be had.
 */
export function pythonWith(packages: readonly string[]): Python | undefined {
  const folder = CACHE + packages.join("+");
  if (!existsSync(folder)) {
    const install = [
      "-m",
      "pip",
      "install",
      "--quiet",
      "--disable-pip-version-check",
      "--retries",
      "1",
      "--timeout",
      "20",
    ];
    const { status, stderr, error } = spawnSync("python3", [...install, "--target", folder, ...packages], {
      encoding: "utf8",
    });
    if (status !== 0) {
      rmSync(folder, { recursive: true, force: true });
      const reason = error?.message ?? stderr.trim().split("\n").at(-1);
      console.warn(`skipped: ${packages.join(", ")} cannot be installed here: ${reason}`);
      return undefined;
    }
  }
  return (args, environment = {}) => {
    const env = { ...process.env, PYTHONPATH: folder, PYTHONUNBUFFERED: "1", NO_PROXY: "127.0.0.1", ...environment };
    const child = spawn("python3", args, { env, stdio: ["ignore", "pipe", "pipe"] });
    let output = "";
    for (const stream of [child.stdout, child.stderr])
      stream.setEncoding("utf8").on("data", (text: string) => {
        output += text;
      });
    return new Promise((resolve, reject) => {
      child.on("error", reject);
      child.on("close", (code) => resolve({ code, output }));
    });
  };
}
