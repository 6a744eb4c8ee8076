import { readFile, stat } from "node:fs/promises";
import { HalfbyteError } from "../errors.ts";
import { openModelFile } from "../hub/open-model-file.ts";
import type { QuantizationMethod, QuantizedEncoding } from "../quantize/options.ts";
import { type QuantizeModelOptions, type QuantizeReport, quantizeModel } from "../quantize/quantize-model.ts";
import { formatBytes, formatCount, formatDuration } from "./format.ts";
import { ProgressLine } from "./progress-line.ts";
import type { RunOptions } from "./run-options.ts";
import { oneLine } from "./terminal-text.ts";

export interface QuantizeCommandOptions extends Pick<RunOptions, "threads" | "executor" | "kernel"> {
  readonly to: QuantizedEncoding;
  readonly method: QuantizationMethod;
  readonly group?: number;
  readonly bits?: "4" | "8";
  readonly symmetric?: boolean;
  readonly asymmetric?: boolean;
  readonly keep?: readonly string[];
  readonly bits8?: readonly string[];
  readonly embedding: "keep" | "4" | "8";
  readonly calibration?: string;
  readonly samples?: number;
  readonly sampleTokens?: number;
  readonly damping?: number;
  readonly plainOrder?: boolean;
  readonly force?: boolean;
  readonly json?: boolean;
  readonly quiet?: boolean;
}

/** Some million words; samples are spread over all of it. */
const MAX_TEXT_BYTES = 64 << 20;

/** `halfbyte quantize`. */
export async function quantize(
  reference: string,
  output: string,
  options: QuantizeCommandOptions,
  interrupt: AbortSignal,
): Promise<void> {
  if (options.to.startsWith("gguf") !== /\.gguf$/i.test(output))
    throw new HalfbyteError("ERR_ARGUMENT", "the output's name does not fit its format", {
      place: output,
      expected: options.to.startsWith("gguf") ? "a name that ends in .gguf" : "the name of a folder",
    });
  if (options.symmetric && options.asymmetric)
    throw new HalfbyteError("ERR_ARGUMENT", "one of the two", { place: "--symmetric and --asymmetric" });
  checkEffect(options);
  const text = options.calibration === undefined ? undefined : await readText(options.calibration);
  const progress = options.quiet ? undefined : new ProgressLine(process.stderr);
  const started = performance.now();
  const { place, file } = await openModelFile(reference);
  try {
    const report = await quantizeModel(file, output, {
      ...modelOptions(options),
      calibration: { text, count: options.samples, length: options.sampleTokens },
      inputs: [place],
      signal: interrupt,
      onProgress: (phase, done, total) => progress?.update(phase === "write" ? "writing" : "quantising", done, total),
    });
    progress?.clear();
    const seconds = (performance.now() - started) / 1000;
    process.stdout.write(options.json ? json(place, output, options, report, seconds) : `${output}\n`);
    if (!options.quiet && !options.json) process.stderr.write(summary(report, seconds));
  } catch (error) {
    progress?.clear();
    if (interrupt.aborted && !options.quiet)
      process.stderr.write(`interrupted${isCalibrated(options) ? "; the same command goes on where it was" : ""}\n`);
    throw error;
  } finally {
    progress?.clear();
    await file.close();
  }
}

function isCalibrated({ method }: QuantizeCommandOptions): boolean {
  return method === "gptq" || method === "awq";
}

/** Options that the method has no use for are refused: who gives them thinks otherwise. */
function checkEffect(options: QuantizeCommandOptions): void {
  const { method, calibration, samples, damping, executor, kernel } = options;
  const refuse = (given: Readonly<Record<string, unknown>>, methods: string): void => {
    const [place] = Object.entries(given).find(([, value]) => value !== undefined) ?? [];
    if (place === undefined) return;
    const expected = `--method ${methods}`;
    throw new HalfbyteError("ERR_ARGUMENT", `has no effect with --method ${method}`, { place, expected });
  };
  if (!isCalibrated(options)) {
    refuse(
      { "--calibration": calibration, "--samples": samples, "--executor": executor, "--kernel": kernel },
      "awq or gptq",
    );
    refuse({ "--sample-tokens": options.sampleTokens }, "awq or gptq");
  }
  if (method !== "gptq") refuse({ "--damping": damping, "--plain-order": options.plainOrder }, "gptq");
}

function modelOptions(options: QuantizeCommandOptions): QuantizeModelOptions {
  const { executor, kernel, threads, bits, embedding } = options;
  return {
    encoding: options.to,
    method: options.method,
    groupSize: options.group === 0 ? -1 : options.group,
    bits: bits === undefined ? undefined : (Number(bits) as 4 | 8),
    symmetric: options.symmetric ? true : options.asymmetric ? false : undefined,
    keep: options.keep,
    eightBits: options.bits8,
    embedding: embedding === "keep" ? embedding : (Number(embedding) as 4 | 8),
    damping: options.damping,
    actOrder: !options.plainOrder,
    force: options.force,
    threads,
    executor: { executor, kernel, threads, environment: process.env },
  };
}

async function readText(path: string): Promise<string> {
  try {
    const { size } = await stat(path);
    if (size > MAX_TEXT_BYTES)
      throw new HalfbyteError("ERR_LIMIT", "calibration text too large", {
        place: path,
        expected: `at most ${formatBytes(MAX_TEXT_BYTES)}`,
        got: formatBytes(size),
      });
    return new TextDecoder("utf-8", { fatal: true }).decode(await readFile(path));
  } catch (cause) {
    if (cause instanceof HalfbyteError) throw cause;
    const code = (cause as NodeJS.ErrnoException).code;
    if (code === "ENOENT") throw new HalfbyteError("ERR_MISSING", "there is no such file", { place: path });
    if (code === "ERR_ENCODING_INVALID_ENCODED_DATA")
      throw new HalfbyteError("ERR_FORMAT", "not a UTF-8 text", { place: path, cause });
    throw new HalfbyteError("ERR_IO", "cannot read the calibration text", { place: path, cause });
  }
}

function json(
  place: string,
  output: string,
  { to, method }: QuantizeCommandOptions,
  report: QuantizeReport,
  seconds: number,
): string {
  const { calibration, ...rest } = report;
  const { tokens, executor, resumed } = calibration ?? {};
  const value = {
    input: place,
    output,
    to,
    method,
    seconds,
    ...rest,
    ...(calibration && { calibration: { tokens, executor, resumed } }),
  };
  return `${JSON.stringify(value, undefined, 2)}\n`;
}

function summary({ bytes, quantized, kept, searched, calibration, notes }: QuantizeReport, seconds: number): string {
  const lines = [
    `${formatCount(quantized.length)} matrices quantised, ${formatCount(kept.length)} kept, ${formatBytes(bytes)}, in ${formatDuration(seconds * 1000)}`,
  ];
  if (calibration) {
    const { tokens, executor, resumed } = calibration;
    lines.push(`fitted to ${formatCount(tokens)} tokens on the ${executor} executor`);
    if (resumed > 0) lines.push(`${formatCount(resumed)} matrices were there from an interrupted run`);
  }
  if (searched.length > 0) lines.push(`${formatCount(searched.length)} matrices were not fitted to the text`);
  for (const note of notes) lines.push(`note: ${note}`);
  return `${lines.map((line) => oneLine(line)).join("\n")}\n`;
}
