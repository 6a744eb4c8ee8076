import { createInterface } from "node:readline/promises";
import { HalfbyteError } from "../errors.ts";
import { type CachedModel, cacheFolder, listModels, removeModel } from "../hub/index.ts";
import { formatBytes, formatTable, plural } from "./format.ts";
import { pullWithProgress } from "./load.ts";
import { oneLine, styled } from "./terminal-text.ts";

export interface PullCommandOptions {
  readonly refresh?: boolean;
  readonly json?: boolean;
  readonly quiet?: boolean;
}

/** `halfbyte pull`: fetches a model and prints where it is. */
export async function pullModel(reference: string, options: PullCommandOptions, interrupt: AbortSignal): Promise<void> {
  const { failures, ...pulled } = await pullWithProgress(reference, options, interrupt);
  const { stdout } = process;
  if (options.json) {
    const notFrom = failures.map(({ source, error }) => ({ source, error: String((error as Error).message ?? error) }));
    stdout.write(`${JSON.stringify({ ...pulled, failures: notFrom }, undefined, 2)}\n`);
    return;
  }
  if (!options.quiet) {
    const size = pulled.bytes === undefined ? "" : `, ${formatBytes(pulled.bytes)}`;
    const from = pulled.cached ? "already here" : `from ${pulled.source}`;
    process.stderr.write(`${oneLine(`${pulled.name}${size}, ${from}`)}\n`);
    if (!pulled.cached && pulled.licence) process.stderr.write(`licence: ${oneLine(pulled.licence)}\n`);
  }
  stdout.write(`${oneLine(pulled.path)}\n`);
}

/** `halfbyte list`: what the cache has. */
export async function listCommand(options: { readonly json?: boolean }): Promise<void> {
  const { stdout } = process;
  const models = await listModels();
  if (options.json) stdout.write(`${JSON.stringify(models, undefined, 2)}\n`);
  else if (models.length === 0)
    process.stderr.write(`no models in ${cacheFolder()}; halfbyte pull smollm2 fetches one\n`);
  else stdout.write(`${modelTable(models)}\n`);
}

function modelTable(models: readonly CachedModel[]): string {
  const rows = models.map(({ name, bytes, format, source, pulledAt }) =>
    [name, formatBytes(bytes), format, pulledAt.slice(0, 10), source].map((cell) => oneLine(cell)),
  );
  const [head, ...rest] = formatTable([["name", "size", "format", "pulled", "from"], ...rows], [1]).split("\n");
  return [styled(process.stdout, "bold", head!), ...rest].join("\n");
}

/** `halfbyte rm`: removes models from the cache, after asking. */
export async function removeCommand(
  names: readonly string[],
  options: { readonly yes?: boolean; readonly json?: boolean },
  interrupt: AbortSignal,
): Promise<void> {
  if (!options.yes && !(await confirmed(names, interrupt))) {
    process.stderr.write("nothing was removed\n");
    return;
  }
  const removed: { name: string; freedBytes: number }[] = [];
  for (const name of names) {
    const { freedBytes } = await removeModel(name, { signal: interrupt });
    removed.push({ name, freedBytes });
    if (!options.json) process.stderr.write(`removed ${oneLine(name)}, ${formatBytes(freedBytes)}\n`);
  }
  if (options.json) process.stdout.write(`${JSON.stringify(removed, undefined, 2)}\n`);
}

async function confirmed(names: readonly string[], signal: AbortSignal): Promise<boolean> {
  if (!process.stdin.isTTY || !process.stderr.isTTY)
    throw new HalfbyteError("ERR_ARGUMENT", "rm asks before it removes, and there is no terminal to ask in", {
      remedy: "give --yes",
    });
  const terminal = createInterface({ input: process.stdin, output: process.stderr });
  try {
    const question = `Remove ${plural(names.length, "model")} (${names.map((name) => oneLine(name)).join(", ")})? [y/N] `;
    return /^y(es)?$/i.test((await terminal.question(question, { signal })).trim());
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "ABORT_ERR") throw error;
    // Ctrl-C or Ctrl-D instead of an answer.
    process.stderr.write("\n");
    process.exitCode = 130;
    return false;
  } finally {
    terminal.close();
  }
}
