import { openModelFile } from "../hub/open-model-file.ts";
import { type QuantizeModelOptions, type QuantizeReport, quantizeModel } from "./quantize-model.ts";

export type { QuantizationMethod, QuantizedEncoding } from "./options.ts";
export type { QuantizeReport } from "./quantize-model.ts";

export type QuantizeOptions = Omit<QuantizeModelOptions, "inputs">;

/**
 * Makes a 4- or 8-bit model, as `halfbyte quantize` does: `model` is a path, or the name of a model in the cache; `output` a
 * folder to make, or a file for GGUF encodings. The output takes its name when it is complete.
 *
 * Throws ERR_ARGUMENT for options that do not fit each other or the model, ERR_NON_FINITE for weights that are not finite,
 * ERR_MISSING or ERR_UNKNOWN_MODEL for a model that is not here, ERR_IO; the reason of `signal` when aborted.
 */
export async function quantize(model: string, output: string, options: QuantizeOptions): Promise<QuantizeReport> {
  const { place, file } = await openModelFile(model);
  try {
    return await quantizeModel(file, output, { ...options, inputs: [place] });
  } finally {
    await file.close();
  }
}
