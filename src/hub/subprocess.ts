import { spawn } from "node:child_process";
import { stripVTControlCharacters } from "node:util";
import type { Environment } from "./environment.ts";

/** Enough for the reason of a failure, which tools print last. */
const MAX_OUTPUT_CHARACTERS = 64 * 1024;
/** After a polite request to end. */
const KILL_AFTER_MS = 2_000;

export interface Command {
  readonly command: string;
  readonly args: readonly string[];
}

export interface CommandResult {
  readonly exitCode: number | undefined;
  /** The end of what it printed on both streams, without colours. */
  readonly output: string;
}

/**
 * Runs a program without a shell, its input closed, and waits for its end; undefined when there is no such program.
 * Throws the signal's reason after ending the program.
 */
export async function runCommand(
  { command, args }: Command,
  options: { cwd: string; environment: Environment; signal: AbortSignal },
): Promise<CommandResult | undefined> {
  const { cwd, environment, signal } = options;
  signal.throwIfAborted();
  const child = spawn(command, args, {
    cwd,
    env: { ...environment },
    stdio: ["ignore", "pipe", "pipe"],
    windowsHide: true,
    shell: false,
  });
  let output = "";
  const collect = (chunk: string): void => {
    output = (output + chunk).slice(-MAX_OUTPUT_CHARACTERS);
  };
  child.stdout.setEncoding("utf8").on("data", collect);
  child.stderr.setEncoding("utf8").on("data", collect);
  const end = (): void => {
    child.kill("SIGTERM");
    setTimeout(() => child.kill("SIGKILL"), KILL_AFTER_MS).unref();
  };
  signal.addEventListener("abort", end, { once: true });
  try {
    const exitCode = await new Promise<number | null>((resolve, reject) => {
      child.once("error", reject);
      child.once("close", resolve);
    });
    signal.throwIfAborted();
    return { exitCode: exitCode ?? undefined, output: stripVTControlCharacters(output) };
  } catch (error) {
    signal.throwIfAborted();
    const code = (error as NodeJS.ErrnoException).code;
    if (code === "ENOENT" || code === "EACCES") return undefined;
    throw error;
  } finally {
    signal.removeEventListener("abort", end);
  }
}

/** What pip and npm print when the index could not be reached; pip then also claims that there is no such version. */
const UNREACHABLE =
  /NewConnectionError|NameResolutionError|ConnectTimeoutError|ReadTimeoutError|ProxyError|SSLError|ENOTFOUND|EAI_AGAIN|ECONNREFUSED|ETIMEDOUT/;

/** What a tool says went wrong, short and without passwords of addresses. */
export function complaint(output: string): string {
  const unreachable = UNREACHABLE.exec(output);
  if (unreachable) return `its package index was not reached (${unreachable[0]})`;
  const lines = output.split(/\r?\n/).map((line) => line.trim());
  const errors = lines.filter((line) => /^(ERROR|npm (error|ERR!))/.test(line));
  const chosen = (errors.length > 0 ? errors : lines.filter(Boolean)).slice(-3).join(" ");
  return chosen.replace(/\/\/[^\s/@]+@/g, "//").slice(0, 500) || "it said nothing";
}
