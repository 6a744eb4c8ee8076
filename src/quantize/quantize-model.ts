import { checkOutput } from "../convert/check-output.ts";
import { type ConversionTarget, planConversion } from "../convert/convert.ts";
import { openOutput } from "../convert/node-output.ts";
import type { WeightChanges } from "../convert/plan-folder.ts";
import type { ExecutorWishes } from "../executors/select.ts";
import { cpuBudget } from "../executors/threads-node.ts";
import type { GgufFile } from "../formats/gguf/open-gguf.ts";
import type { HuggingFaceFolder } from "../formats/safetensors/hugging-face-folder.ts";
import type { CalibratedMatrices } from "./calibrated-matrices.ts";
import type { SampleOptions } from "./calibration/samples.ts";
import { checkFinite, fileWeights } from "./file-weights.ts";
import { KernelPool } from "./kernels/kernel-pool.ts";
import { QuantizationChoices, type QuantizeOptions } from "./options.ts";
import { floatSource, roundedSource, vouched } from "./quantized-source.ts";

export interface QuantizeModelOptions extends QuantizeOptions {
  /** A text as the model will be used on, for awq and gptq; a short one of Halfbyte's own when absent. */
  readonly calibration?: (SampleOptions & { readonly text?: string | undefined }) | undefined;
  /** Replace the output where there is one. */
  readonly force?: boolean | undefined;
  /** Paths that are read: the output may be none of them. */
  readonly inputs?: readonly string[] | undefined;
  readonly executor?: ExecutorWishes | undefined;
  readonly threads?: number | undefined;
  readonly signal?: AbortSignal | undefined;
  /** "quantize": weights done by calibration; "write": bytes written. */
  readonly onProgress?: ((phase: "quantize" | "write", done: number, total: number) => void) | undefined;
}

export interface QuantizeReport {
  /** Bytes of tensors written. */
  readonly bytes: number;
  /** Matrices that were quantised, by name, and those of layers and ends that were not. */
  readonly quantized: readonly string[];
  readonly kept: readonly string[];
  /** Those of the quantised that the model runs in parts of their own, and that were not fitted to the text therefore. */
  readonly searched: readonly string[];
  readonly calibration: Pick<CalibratedMatrices, "tokens" | "executor" | "resumed"> | undefined;
  readonly notes: readonly string[];
}

/**
 * Makes a 4- or 8-bit model of a float one, or of one that is read as floats, at `output`: a folder, or a file for GGUF. The
 * output takes its name when it is complete. After an interruption matrices that were fitted to a text are taken up again.
 *
 * Throws ERR_ARGUMENT for options that do not fit each other or the model, ERR_NON_FINITE for weights that are not finite,
 * ERR_IO, and what opening and writing the model throw; what the signal was aborted with.
 */
export async function quantizeModel(
  file: GgufFile | HuggingFaceFolder,
  output: string,
  options: QuantizeModelOptions,
): Promise<QuantizeReport> {
  const choices = new QuantizationChoices(options);
  const target = targetOf(choices);
  const { signal, onProgress, force = false, inputs = [] } = options;
  const kind = target.format === "gguf" ? "file" : "folder";
  await checkOutput(output, kind, { force, inputs });
  const weights = await fileWeights(file);
  choices.checkNames(weights);
  // Quantised ones are looked at where they are rounded.
  for (const each of weights) if (choices.keeps(each)) await checkFinite(each, signal);
  const pool = await KernelPool.create(options.threads ?? cpuBudget().threads);
  const stop = (): void => void pool.dispose();
  signal?.addEventListener("abort", stop);
  let calibrated: CalibratedMatrices | undefined;
  try {
    if (choices.method === "gptq" || choices.method === "awq")
      calibrated = await calibrate(file, output, choices, pool, options);
    const report = { quantized: [] as string[], kept: [] as string[], searched: [] as string[] };
    const changes = changesOf(choices, pool, calibrated, report);
    const conversion = await planConversion(file, target, { changes, signal });
    const writeOptions = { signal, onProgress: (done: number, total: number) => onProgress?.("write", done, total) };
    const out = await openOutput(output, kind, { force, inputs });
    try {
      if (conversion.format === "gguf") await conversion.write(await out.sink(), writeOptions);
      else await conversion.write(out.folder, writeOptions);
      signal?.throwIfAborted();
      await out.commit();
    } finally {
      await out.discard();
    }
    await calibrated?.kept.remove();
    const { bytes, notes } = conversion;
    return { bytes, notes, ...report, calibration: calibrated };
  } catch (error) {
    signal?.throwIfAborted();
    throw error;
  } finally {
    signal?.removeEventListener("abort", stop);
    await calibrated?.kept.close();
    await pool.dispose();
  }
}

function targetOf({ encoding }: QuantizationChoices): ConversionTarget {
  if (encoding === "gguf:q4_0" || encoding === "gguf:q4_1" || encoding === "gguf:q4_k" || encoding === "gguf:q8_0")
    return { format: "gguf", encoding: undefined };
  return { format: "folder", encoding };
}

async function calibrate(
  file: GgufFile | HuggingFaceFolder,
  output: string,
  choices: QuantizationChoices,
  pool: KernelPool,
  { calibration, executor, signal, onProgress }: QuantizeModelOptions,
): Promise<CalibratedMatrices> {
  const { calibratedMatrices } = await import("./calibrated-matrices.ts");
  const text = calibration?.text ?? (await import("./calibration/default-text.ts")).CALIBRATION_TEXT;
  return calibratedMatrices(file, output, choices, pool, {
    ...calibration,
    text,
    wishes: executor ?? {},
    signal,
    onProgress: (done, total) => onProgress?.("quantize", done, total),
  });
}

function changesOf(
  choices: QuantizationChoices,
  pool: KernelPool,
  calibrated: CalibratedMatrices | undefined,
  report: { quantized: string[]; kept: string[]; searched: string[] },
): WeightChanges {
  return {
    matrix(source) {
      const choice = choices.of(source);
      if (!choice) {
        report.kept.push(source.name);
        // Other encodings' codes are no floats of a folder.
        return targetOf(choices).format === "folder" ? floatSource(source) : source;
      }
      report.quantized.push(source.name);
      const done = calibrated?.matrices.get(source.name);
      if (!done && (choice.method === "gptq" || choice.method === "awq")) report.searched.push(source.name);
      return done ? vouched(done, choice) : roundedSource(pool, source, choice);
    },
    vector(name) {
      const values = calibrated?.vectors.get(name);
      const lessOne = calibrated?.normsPlusOne && targetOf(choices).format === "folder" && !name.endsWith(".bias");
      return lessOne ? values?.map((value) => value - 1) : values;
    },
  };
}
