import { conversionTarget } from "../convert/convert.ts";
import { type ConvertReport, convert as convertModel } from "../convert/index.ts";
import { HalfbyteError } from "../errors.ts";
import { formatBytes, formatCount, formatDuration } from "./format.ts";
import { ProgressLine } from "./progress-line.ts";
import { oneLine } from "./terminal-text.ts";

export interface ConvertCommandOptions {
  readonly to: string;
  readonly lossy?: boolean;
  readonly force?: boolean;
  readonly json?: boolean;
  readonly quiet?: boolean;
}

/** Names of rounded tensors that are shown. */
const SHOWN_NAMES = 5;

/** `halfbyte convert`. */
export async function convert(
  reference: string,
  output: string,
  options: ConvertCommandOptions,
  interrupt: AbortSignal,
): Promise<void> {
  const target = conversionTarget(options.to);
  const kind = target.format === "gguf" ? "file" : "folder";
  if ((kind === "file") !== /\.gguf$/i.test(output))
    throw new HalfbyteError("ERR_ARGUMENT", "the output's name does not fit its format", {
      place: output,
      expected: kind === "file" ? "a name that ends in .gguf" : "the name of a folder",
    });
  const progress = options.quiet ? undefined : new ProgressLine(process.stderr);
  const started = performance.now();
  try {
    const report = await convertModel(reference, output, {
      to: options.to,
      lossy: options.lossy,
      force: options.force,
      signal: interrupt,
      onProgress: (phase, done, total) => progress?.update(phase === "check" ? "checking" : "writing", done, total),
    });
    progress?.clear();
    const seconds = (performance.now() - started) / 1000;
    process.stdout.write(options.json ? json(report, output, options.to, seconds) : `${output}\n`);
    if (!options.quiet && !options.json) process.stderr.write(summary(report, seconds));
  } catch (error) {
    progress?.clear();
    if (interrupt.aborted && !options.quiet) process.stderr.write("interrupted; nothing was written\n");
    throw error;
  }
}

function json(report: ConvertReport, output: string, to: string, seconds: number): string {
  const { input, tensors, bytes, rounded, notes } = report;
  const value = { input, output, to, tensors, bytes, lossless: rounded.length === 0 };
  return `${JSON.stringify({ ...value, rounded, notes, seconds }, undefined, 2)}\n`;
}

function summary({ tensors, bytes, rounded, notes }: ConvertReport, seconds: number): string {
  const lines = [`${formatCount(tensors)} tensors, ${formatBytes(bytes)}, in ${formatDuration(seconds * 1000)}`];
  if (rounded.length > 0) {
    const more =
      rounded.length > SHOWN_NAMES ? ` and ${formatCount(rounded.length - SHOWN_NAMES)} more; --json has all` : "";
    lines.push(`rounded: ${rounded.slice(0, SHOWN_NAMES).join(", ")}${more}`);
  } else lines.push("every weight is the same");
  for (const note of notes) lines.push(`note: ${note}`);
  return `${lines.map((line) => oneLine(line)).join("\n")}\n`;
}
