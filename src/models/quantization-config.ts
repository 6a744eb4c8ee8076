import { HalfbyteError } from "../errors.ts";
import type { Declared } from "../formats/encodings/form.ts";
import type { GptqVersion } from "../formats/encodings/gptq.ts";
import { shown } from "../formats/shown.ts";
import { readCompressedTensors } from "./compressed-tensors-config.ts";
import type { ConfigReader } from "./config-reader.ts";
import { codeBits, groupSize, isEmbedding, isOutput } from "./declared.ts";
import { NameList } from "./name-list.ts";
import type { Notes } from "./notes.ts";

export type QuantizationMethod = "cpu_int4" | "gptq" | "awq" | "compressed-tensors";

/** What config.json says of how the checkpoint is quantised. Tensors are trusted over it where they tell. */
export interface QuantizationConfig {
  readonly method: QuantizationMethod;
  /** Of one matrix, by its name without `.weight`: how it is quantised, "float" where it is not; undefined: nothing. */
  says(matrix: string): Declared | "float" | undefined;
  /** Of GPTQ's zeros. */
  readonly gptqVersion?: GptqVersion | undefined;
  /** Where to look, for messages. */
  readonly place: string;
}

/**
 * Reads `quantization_config`. Throws ERR_UNSUPPORTED for a method, a width of codes or a variant that cannot be read, and
 * what `ConfigReader` throws. What has no effect here is noted.
 */
export function readQuantizationConfig(config: ConfigReader, notes: Notes): QuantizationConfig {
  const method = config.text("quant_method");
  const place = config.place("quant_method");
  switch (method) {
    case "cpu_int4":
      return { method, place, says: cpuInt4(config, notes) };
    case "gptq":
      return { method, place, says: gptq(config, notes), gptqVersion: gptqVersion(config) };
    case "awq":
      return { method, place, says: awq(config) };
    case "compressed-tensors":
      return { method, place, says: readCompressedTensors(config, notes) };
    default:
      throw new HalfbyteError("ERR_UNSUPPORTED", `checkpoints quantised by ${shown(method)}: not supported`, {
        place,
        expected: "cpu_int4, gptq, awq or compressed-tensors",
        got: shown(method),
      });
  }
}

type Says = QuantizationConfig["says"];

/** Fields of the Python version that trade its memory for speed. */
const DIALS = ["prefill_dequant", "dequant_threshold", "direct_dequant", "use_custom_op"];

function cpuInt4(config: ConfigReader, notes: Notes): Says {
  for (const key of DIALS)
    if (config.has(key))
      notes.add(
        "nothing to steer here, where weights stand in memory once and feed both decoding and prefill",
        config.place(key),
      );
  const ignored = new NameList(config.strings("ignore") ?? [], config.place("ignore"), notes);
  const embedding = config.boolean("quantize_embedding", false);
  const declared = { bits: 4, groupSize: groupSize(config, "group_size") ?? 64 };
  return (matrix) => {
    if (ignored.endOf(matrix)) return "float";
    if (isEmbedding(matrix)) return embedding ? declared : "float";
    return isOutput(matrix) ? undefined : declared;
  };
}

function gptq(config: ConfigReader, notes: Notes): Says {
  const format = config.text("checkpoint_format", "gptq");
  if (format !== "gptq" && format !== "gptq_v2") throw config.unsupported("checkpoint_format", "this layout of GPTQ");
  config.refuse("is_marlin_format", "weights in Marlin's layout", false);
  const declared = {
    bits: codeBits(config, "bits"),
    groupSize: groupSize(config, "group_size"),
    symmetric: config.boolean("sym", true),
  };
  const output = config.boolean("lm_head", false);
  const rules = Object.entries((config.raw("dynamic") as object | undefined) ?? {}).map(([rule, values]) => ({
    skips: rule.startsWith("-:"),
    names: new NameList([`re:${rule.replace(/^[+-]:/, "")}`], config.place("dynamic"), notes),
    values: values as Record<string, unknown>,
  }));
  return (matrix) => {
    if (isEmbedding(matrix)) return undefined;
    if (isOutput(matrix) && !output) return "float";
    const rule = rules.find(({ names }) => names.has(matrix));
    if (rule?.skips) return "float";
    return rule ? { ...declared, ...overrides(rule.values) } : declared;
  };
}

/** Of a rule for some matrices; what is no number is left as it is for all. */
function overrides({ bits, group_size: groupSize }: Record<string, unknown>): Declared {
  return { ...(typeof bits === "number" && { bits }), ...(typeof groupSize === "number" && { groupSize }) };
}

function gptqVersion(config: ConfigReader): GptqVersion | undefined {
  const format = config.text("checkpoint_format", undefined);
  return format === undefined ? undefined : format === "gptq" ? "v1" : "v2";
}

function awq(config: ConfigReader): Says {
  const version = config.text("version", "gemm").toLowerCase();
  if (version !== "gemm") throw config.unsupported("version", "this layout of AWQ");
  config.refuse("zero_point", "AWQ without zero points", true);
  const bits = config.has("w_bit") ? "w_bit" : "bits";
  const size = config.has("q_group_size") ? "q_group_size" : "group_size";
  const declared = { bits: codeBits(config, bits, 4), groupSize: groupSize(config, size) };
  const kept = config.strings("modules_to_not_convert") ?? [];
  return (matrix) => {
    if (isEmbedding(matrix)) return undefined;
    return isOutput(matrix) || kept.some((name) => matrix.includes(name)) ? "float" : declared;
  };
}
