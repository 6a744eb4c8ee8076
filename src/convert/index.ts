import { openModelFile } from "../hub/open-model-file.ts";
import { checkOutput } from "./check-output.ts";
import { conversionTarget, planConversion } from "./convert.ts";
import { openOutput } from "./node-output.ts";

export interface ConvertOptions {
  /** As `halfbyte convert --to` takes it: "gptq", "f32", "gguf:q8_0" and so on. */
  readonly to: string;
  /** Matrices that cannot be held exactly are rounded in place of refused. */
  readonly lossy?: boolean | undefined;
  /** Replace the output where there is one. */
  readonly force?: boolean | undefined;
  readonly signal?: AbortSignal | undefined;
  /** Bytes of weights looked at, then bytes written. */
  readonly onProgress?: ((phase: "check" | "write", done: number, total: number) => void) | undefined;
}

export interface ConvertReport {
  /** The path or URL that was read. */
  readonly input: string;
  /** Tensors written. */
  readonly tensors: number;
  /** Bytes of tensors written. */
  readonly bytes: number;
  /** Names of matrices that lost something; none unless `lossy`. */
  readonly rounded: readonly string[];
  readonly notes: readonly string[];
}

/**
 * Writes a model in another encoding, every weight the same, as `halfbyte convert` does: `model` is a path, or the name of a
 * model in the cache; `output` a folder to make, or a file for GGUF. The output takes its name when it is complete.
 *
 * Throws ERR_ARGUMENT for an encoding that is none or an output that may not be replaced, ERR_UNSUPPORTED, with the first
 * tensor as the place, for one that the encoding cannot hold, ERR_MISSING or ERR_UNKNOWN_MODEL for a model that is not here,
 * ERR_IO; the reason of `signal` when aborted.
 */
export async function convert(
  model: string,
  output: string,
  { to, lossy, force = false, signal, onProgress }: ConvertOptions,
): Promise<ConvertReport> {
  const target = conversionTarget(to);
  const kind = target.format === "gguf" ? "file" : "folder";
  const { place, file } = await openModelFile(model);
  const report = (phase: "check" | "write") => (done: number, total: number) => onProgress?.(phase, done, total);
  try {
    const outputOptions = { force, inputs: [place] };
    await checkOutput(output, kind, outputOptions);
    const conversion = await planConversion(file, target, { lossy, signal, onProgress: report("check") });
    const out = await openOutput(output, kind, outputOptions);
    try {
      const writing = { signal, onProgress: report("write") };
      if (conversion.format === "gguf") await conversion.write(await out.sink(), writing);
      else await conversion.write(out.folder, writing);
      signal?.throwIfAborted();
      await out.commit();
    } finally {
      await out.discard();
    }
    const { tensors, bytes, rounded, notes } = conversion;
    return { input: place, tensors: tensors.length, bytes, rounded, notes };
  } finally {
    await file.close();
  }
}
