import { checkOutput } from "../convert/check-output.ts";
import { type Conversion, conversionTarget, planConversion } from "../convert/convert.ts";
import { openOutput } from "../convert/node-output.ts";
import { HalfbyteError } from "../errors.ts";
import { openModelFile } from "../hub/open-model-file.ts";
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
  const { place, file } = await openModelFile(reference);
  const outputOptions = { ...(options.force && { force: true }), inputs: [place] };
  try {
    await checkOutput(output, kind, outputOptions);
    const conversion = await planConversion(file, target, {
      lossy: options.lossy,
      signal: interrupt,
      onProgress: (done, total) => progress?.update("checking", done, total),
    });
    const opened = await openOutput(output, kind, outputOptions);
    try {
      const writing = {
        signal: interrupt,
        onProgress: (done: number, total: number) => progress?.update("writing", done, total),
      };
      if (conversion.format === "gguf") await conversion.write(await opened.sink(), writing);
      else await conversion.write(opened.folder, writing);
      interrupt.throwIfAborted();
      await opened.commit();
    } finally {
      await opened.discard();
    }
    progress?.clear();
    const seconds = (performance.now() - started) / 1000;
    process.stdout.write(options.json ? json(place, output, options.to, conversion, seconds) : `${output}\n`);
    if (!options.quiet && !options.json) process.stderr.write(summary(conversion, seconds));
  } catch (error) {
    progress?.clear();
    if (interrupt.aborted && !options.quiet) process.stderr.write("interrupted; nothing was written\n");
    throw error;
  } finally {
    await file.close();
  }
}

function json(place: string, output: string, to: string, conversion: Conversion, seconds: number): string {
  const { tensors, bytes, rounded, notes } = conversion;
  const value = { input: place, output, to, tensors: tensors.length, bytes, lossless: rounded.length === 0 };
  return `${JSON.stringify({ ...value, rounded, notes, seconds }, undefined, 2)}\n`;
}

function summary({ tensors, bytes, rounded, notes }: Conversion, seconds: number): string {
  const lines = [`${formatCount(tensors.length)} tensors, ${formatBytes(bytes)}, in ${formatDuration(seconds * 1000)}`];
  if (rounded.length > 0) {
    const more =
      rounded.length > SHOWN_NAMES ? ` and ${formatCount(rounded.length - SHOWN_NAMES)} more; --json has all` : "";
    lines.push(`rounded: ${rounded.slice(0, SHOWN_NAMES).join(", ")}${more}`);
  } else lines.push("every weight is the same");
  for (const note of notes) lines.push(`note: ${note}`);
  return `${lines.map((line) => oneLine(line)).join("\n")}\n`;
}
