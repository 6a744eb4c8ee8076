import { execFileSync, spawn } from "node:child_process";
import { existsSync } from "node:fs";
import { fileURLToPath } from "node:url";

export const MAIN: string = fileURLToPath(new URL("../../dist/cli/main.js", import.meta.url));
export const TINY_MODEL: string = fileURLToPath(new URL("../golden/llama-q4_0.gguf", import.meta.url));
const DRIVER = fileURLToPath(new URL("./drive-terminal.py", import.meta.url));

export const isBuilt: boolean = existsSync(MAIN);

export interface Ended {
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

export interface CommandOptions {
  readonly input?: string;
  readonly environment?: Record<string, string>;
  /** Sent as soon as there is output. */
  readonly signalAtOutput?: NodeJS.Signals;
}

/** Runs the built command to its end, without a terminal. */
export function halfbyte(args: readonly string[], options: CommandOptions = {}): Promise<Ended> {
  const child = spawn(process.execPath, [MAIN, ...args], { env: { ...process.env, ...options.environment } });
  let stdout = "";
  let stderr = "";
  child.stdout.setEncoding("utf8").on("data", (text: string) => {
    if (options.signalAtOutput && !stdout) child.kill(options.signalAtOutput);
    stdout += text;
  });
  child.stderr.setEncoding("utf8").on("data", (text: string) => {
    stderr += text;
  });
  child.stdin.on("error", () => {}); // it may end before it reads
  child.stdin.end(options.input ?? "");
  return new Promise((resolve, reject) => {
    child.on("error", reject);
    child.on("close", (code) => resolve({ code, stdout, stderr }));
  });
}

export type Step = readonly ["expect" | "send", string] | readonly ["wait", number];

/** Whether a terminal can be played here: Python's pty module, on systems that have such terminals. */
export const hasTerminal: boolean = ((): boolean => {
  try {
    execFileSync("python3", ["-c", "import pty"], { stdio: "ignore" });
    return true;
  } catch {
    return false;
  }
})();

/** Runs the built command in a pseudo-terminal. */
export async function inTerminal(
  args: readonly string[],
  steps: readonly Step[],
  environment: Record<string, string> = {},
): Promise<{ output: string; code: number; failure: string | null }> {
  const command = [DRIVER, JSON.stringify(steps), process.execPath, MAIN, ...args];
  const child = spawn("python3", command, {
    env: { ...process.env, TERM: "xterm", ...environment },
    stdio: ["ignore", "pipe", "inherit"],
  });
  let text = "";
  for await (const chunk of child.stdout.setEncoding("utf8")) text += chunk;
  return JSON.parse(text);
}
