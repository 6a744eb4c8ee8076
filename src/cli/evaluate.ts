import { access, constants, readFile, stat, writeFile } from "node:fs/promises";
import { basename, dirname } from "node:path";
import { HalfbyteError } from "../errors.ts";
import type { NamedFile } from "../evaluate/candidate.ts";
import { type EvaluateOptions, evaluateFiles } from "../evaluate/evaluate-files.ts";
import type { Evaluation } from "../evaluate/evaluation.ts";
import { qualityPicture } from "../evaluate/quality-picture.ts";
import { openPath } from "../formats/node-open-path.ts";
import { evaluationNotes, evaluationTable, layerTable } from "./evaluation-table.ts";
import { formatBytes, formatCount } from "./format.ts";
import { pullWithProgress } from "./load.ts";
import { ProgressLine } from "./progress-line.ts";
import { loadOptions, type RunOptions } from "./run-options.ts";
import { oneLine, styled } from "./terminal-text.ts";

export interface EvaluateCommandOptions
  extends Pick<RunOptions, "threads" | "executor" | "kernel" | "activations" | "cacheType" | "floatWeights"> {
  readonly against?: string;
  readonly text?: string;
  readonly tokens?: number;
  readonly window?: number;
  readonly stride?: number;
  readonly layers?: boolean;
  readonly picture?: string;
  readonly json?: boolean;
  readonly quiet?: boolean;
}

/** Some million words. */
const MAX_TEXT_BYTES = 64 << 20;

/** `halfbyte evaluate`: interrupted, it shows what has been measured by then. */
export async function evaluateCommand(
  models: readonly string[],
  options: EvaluateCommandOptions,
  interrupt: AbortSignal,
): Promise<void> {
  const { against, picture } = options;
  if (picture !== undefined && against === undefined)
    throw new HalfbyteError("ERR_ARGUMENT", "a picture shows the divergence from a reference", {
      place: "--picture",
      remedy: "name the reference with --against",
    });
  if (picture !== undefined) await checkPicture(picture);
  const text = options.text === undefined ? undefined : await readText(options.text);
  const opened: NamedFile[] = [];
  try {
    const open = async (reference: string): Promise<NamedFile> => {
      const { path } = await pullWithProgress(reference, options, interrupt);
      const file = { name: shortName(reference, [...models, against]), file: await openPath(path) };
      opened.push(file);
      return file;
    };
    const files: NamedFile[] = [];
    for (const model of models) files.push(await open(model));
    const reference = against === undefined ? undefined : await open(against);
    const evaluation = await withProgress(options, (onProgress) =>
      evaluateFiles(files, reference, {
        ...evaluateOptions(options),
        ...(text !== undefined && { text }),
        stop: interrupt,
        onProgress,
      }),
    );
    show(evaluation, options);
    if (picture !== undefined) await writePicture(picture, evaluation);
  } finally {
    await Promise.all(opened.map(({ file }) => file.close()));
  }
}

/** The last part of a path, where that tells the models apart. */
function shortName(reference: string, all: readonly (string | undefined)[]): string {
  const same = all.filter((other) => other !== undefined && basename(other) === basename(reference));
  return new Set(same).size > 1 ? reference : basename(reference);
}

async function readText(path: string): Promise<string> {
  try {
    const { size } = await stat(path);
    if (size > MAX_TEXT_BYTES)
      throw new HalfbyteError("ERR_LIMIT", "too large a text", {
        place: path,
        expected: `at most ${formatBytes(MAX_TEXT_BYTES)}`,
        got: formatBytes(size),
      });
    return new TextDecoder("utf-8", { fatal: true }).decode(await readFile(path));
  } catch (cause) {
    if (cause instanceof HalfbyteError) throw cause;
    if (cause instanceof TypeError)
      throw new HalfbyteError("ERR_FORMAT", "the text is not UTF-8", { place: path, cause });
    throw new HalfbyteError("ERR_IO", "cannot read the text", { place: path, cause });
  }
}

function evaluateOptions({ tokens, window, stride, ...rest }: EvaluateCommandOptions): EvaluateOptions {
  return {
    ...loadOptions(rest),
    environment: process.env,
    ...(tokens !== undefined && { tokens }),
    ...(window !== undefined && { window }),
    ...(stride !== undefined && { stride }),
  };
}

type Report = NonNullable<EvaluateOptions["onProgress"]>;

async function withProgress<T>(options: EvaluateCommandOptions, run: (report: Report) => Promise<T>): Promise<T> {
  if (options.quiet) return run(() => {});
  const loading = new ProgressLine(process.stderr);
  const measuring = new ProgressLine(process.stderr, undefined, (rows) => `${formatCount(Math.round(rows))} tokens`);
  try {
    return await run(({ phase, model, done, total }) => {
      if (phase === "measure") {
        loading.clear();
        measuring.update("measuring", done, total);
      } else if (process.stderr.isTTY) {
        measuring.clear();
        loading.update(`loading ${oneLine(model ?? "")}`, done, total);
      }
    });
  } finally {
    loading.clear();
    measuring.clear();
  }
}

function show(evaluation: Evaluation, options: EvaluateCommandOptions): void {
  const { stdout, stderr } = process;
  if (options.json) {
    stdout.write(`${JSON.stringify({ text: options.text ?? "default", ...evaluation }, undefined, 2)}\n`);
  } else {
    stdout.write(`${evaluationTable(evaluation)}\n`);
    if (options.layers) stdout.write(`\n${layerTable(evaluation)}\n`);
  }
  if (!options.quiet) for (const note of evaluationNotes(evaluation)) stderr.write(`${styled(stderr, "dim", note)}\n`);
}

/** Before hours of measuring: throws what `writePicture` would, as far as that can be known. */
async function checkPicture(path: string): Promise<void> {
  if (!/\.svg$/i.test(path))
    throw new HalfbyteError("ERR_ARGUMENT", "a picture is an SVG file", {
      place: "--picture",
      expected: "a name that ends in .svg",
      got: path,
    });
  try {
    const there = await stat(path).catch(() => undefined);
    if (there?.isDirectory()) throw new Error("a folder of this name is there");
    await access(there ? path : dirname(path), constants.W_OK);
  } catch (cause) {
    throw cannotWrite(path, cause);
  }
}

function cannotWrite(path: string, cause: unknown): HalfbyteError {
  const [reason] = (cause instanceof Error ? cause.message : String(cause)).split(",");
  return new HalfbyteError("ERR_IO", `cannot write the picture: ${reason}`, { place: path, cause });
}

async function writePicture(path: string, { reference, models, predictions }: Evaluation): Promise<void> {
  const points = models.flatMap(({ name, file, comparison }) =>
    comparison
      ? [
          {
            label: `${name}, ${file.bitsPerWeight.toFixed(2)} bits`,
            size: file.bytes / 1e6,
            divergence: comparison.divergence.mean,
            standardError: comparison.divergence.standardError,
          },
        ]
      : [],
  );
  const svg = qualityPicture(points, {
    title: `What is lost against ${reference?.name ?? "the reference"}`,
    note: `${formatCount(predictions)} predictions; whiskers are one standard error`,
    sizeAxis: "weights in the file, MB",
  });
  try {
    await writeFile(path, svg);
  } catch (cause) {
    throw cannotWrite(path, cause);
  }
}
