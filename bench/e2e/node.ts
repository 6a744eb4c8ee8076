import { execFile } from "node:child_process";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import type { Figures, Task } from "./arms/arm.d.ts";

const run = promisify(execFile);
const child = fileURLToPath(new URL("./node-child.mjs", import.meta.url));

/** Runs an arm in a process of its own. */
export async function runInNode(node: string, arm: string, model: string, task: Task): Promise<Figures> {
  const { stdout } = await run(node, [child, arm, model, JSON.stringify(task)], { maxBuffer: 1 << 24 });
  return JSON.parse(stdout.trim().split("\n").at(-1)!);
}

/** Path of a Node of that major version, fetched into npm's cache where it is not the one that runs. */
export async function nodeOfVersion(major: number): Promise<string> {
  if (process.versions.node.startsWith(`${major}.`)) return process.execPath;
  const { stdout } = await run("npx", ["--yes", `node@${major}`, "-p", "process.execPath"]);
  return stdout.trim();
}
