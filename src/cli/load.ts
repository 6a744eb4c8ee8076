import { readFile, stat } from "node:fs/promises";
import { HalfbyteError } from "../errors.ts";
import { type PulledModel, pull } from "../hub/index.ts";
import { loadModel, type Model } from "../index.ts";
import { ProgressLine } from "./progress-line.ts";
import { loadOptions, type RunOptions } from "./run-options.ts";
import { oneLine, styled } from "./terminal-text.ts";

/** Templates in use have some kilobytes. */
const MAX_TEMPLATE_BYTES = 1024 * 1024;

/** Fetches a model unless it is on this machine, with its progress on standard error. */
export async function pullWithProgress(
  reference: string,
  options: { readonly quiet?: boolean | undefined; readonly refresh?: boolean | undefined },
  signal: AbortSignal,
): Promise<PulledModel> {
  const progress = new ProgressLine(process.stderr);
  try {
    const pulled = await pull(reference, {
      signal,
      ...(options.refresh && { refresh: true }),
      ...(!options.quiet && {
        onProgress: ({ phase, source, receivedBytes, totalBytes }) =>
          progress.update(`${phase} ${oneLine(source)}`, receivedBytes, totalBytes),
      }),
    });
    progress.clear();
    if (!options.quiet) for (const failure of pulled.failures) note(`not from ${failure.source}: ${reason(failure)}`);
    return pulled;
  } finally {
    progress.clear();
  }
}

/** Fetches a model where that is needed and loads it, with progress on standard error. */
export async function loadWithProgress(reference: string, options: RunOptions, signal: AbortSignal): Promise<Model> {
  const chatTemplate = options.chatTemplate === undefined ? undefined : await readTemplate(options.chatTemplate);
  const { path, name } = await pullWithProgress(reference, options, signal);
  // Elsewhere than in a terminal a line for work of a second or two says nothing.
  const progress = options.quiet || !process.stderr.isTTY ? undefined : new ProgressLine(process.stderr);
  try {
    return await loadModel(path, {
      ...loadOptions(options),
      name,
      signal,
      ...(chatTemplate !== undefined && { chatTemplate }),
      ...(progress && { onProgress: ({ done, total }) => progress.update("loading", done, total) }),
    });
  } finally {
    progress?.clear();
  }
}

function note(text: string): void {
  process.stderr.write(`${styled(process.stderr, "dim", oneLine(text))}\n`);
}

function reason({ source, error }: { source: string; error: unknown }): string {
  const message = error instanceof Error ? error.message : String(error);
  return message.startsWith(`${source}: `) ? message.slice(source.length + 2) : message;
}

export async function readTemplate(path: string): Promise<string> {
  try {
    const { size } = await stat(path);
    if (size > MAX_TEMPLATE_BYTES)
      throw new HalfbyteError("ERR_LIMIT", "too large for a chat template", {
        place: path,
        expected: `at most ${MAX_TEMPLATE_BYTES} bytes`,
        got: String(size),
      });
    return await readFile(path, "utf8");
  } catch (cause) {
    if (cause instanceof HalfbyteError) throw cause;
    throw new HalfbyteError("ERR_IO", "cannot read the chat template", { place: path, cause });
  }
}
