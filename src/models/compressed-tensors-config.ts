import { HalfbyteError } from "../errors.ts";
import type { Declared } from "../formats/encodings/form.ts";
import { isJsonObject } from "../formats/json.ts";
import type { ConfigReader } from "./config-reader.ts";
import { codeBits, groupSize, isEmbedding } from "./declared.ts";
import { NameList } from "./name-list.ts";
import type { Notes } from "./notes.ts";

const FORMATS = ["pack-quantized", "int-quantized"];
const MAX_CONFIG_GROUPS = 1024;

interface ConfigGroup {
  readonly targets: NameList;
  readonly weights: Declared | undefined;
}

/**
 * `config_groups` of compressed-tensors: what each says of the matrices that it targets, by name, by regular expression or
 * by class, but for those ignored. Throws ERR_UNSUPPORTED for formats, transforms and sparsity that are not read.
 */
export function readCompressedTensors(
  config: ConfigReader,
  notes: Notes,
): (matrix: string) => Declared | "float" | undefined {
  const format = config.text("format", "pack-quantized");
  if (format !== "mixed-precision") checkFormat(config, "format", format);
  for (const key of ["sparsity_config", "transform_config"]) refuseFilled(config, key);
  config.refuse("kv_cache_scheme", "a quantised cache");
  const ignored = new NameList(config.strings("ignore") ?? [], config.place("ignore"), notes);
  const groups = config.objects("config_groups", MAX_CONFIG_GROUPS).map((group) => configGroup(group, notes));
  return (matrix) => {
    const name = isEmbedding(matrix) ? "Embedding" : "Linear";
    if (ignored.has(matrix) || ignored.has(name)) return "float";
    const group = groups.find(({ targets }) => targets.has(matrix)) ?? groups.find(({ targets }) => targets.has(name));
    return group ? (group.weights ?? "float") : "float";
  };
}

function configGroup(group: ConfigReader, notes: Notes): ConfigGroup {
  if (group.has("format")) checkFormat(group, "format", group.text("format"));
  const inputs = group.object("input_activations");
  if (inputs)
    notes.add(
      "activations are quantised as the option `activations` says, not as here",
      group.place("input_activations"),
    );
  group.refuse("output_activations", "quantised outputs");
  const targets = new NameList(group.strings("targets") ?? [], group.place("targets"), notes);
  const weights = group.object("weights");
  return { targets, weights: weights && declaredWeights(weights) };
}

function declaredWeights(weights: ConfigReader): Declared {
  if (weights.text("type", "int") !== "int") throw weights.unsupported("type", "weights of this type");
  const strategy = weights.text("strategy", weights.has("group_size") ? "group" : "channel");
  if (strategy !== "group" && strategy !== "channel") throw weights.unsupported("strategy", "scales of this kind");
  return {
    bits: codeBits(weights, "num_bits"),
    groupSize: strategy === "channel" ? -1 : groupSize(weights, "group_size"),
    symmetric: weights.boolean("symmetric", true),
  };
}

function checkFormat(config: ConfigReader, key: string, format: string): void {
  if (FORMATS.includes(format)) return;
  throw new HalfbyteError("ERR_UNSUPPORTED", "this format of compressed-tensors cannot be read", {
    place: config.place(key),
    expected: FORMATS.join(" or "),
    got: format.slice(0, 40),
  });
}

/** These change what the weights mean, unless they are empty or dense. */
function refuseFilled(config: ConfigReader, key: string): void {
  const value = config.raw(key);
  if (value === undefined) return;
  const empty = isJsonObject(value) && (Object.keys(value).length === 0 || value.format === "dense");
  if (!empty && !(isJsonObject(value) && isEmptyTransform(value)))
    throw config.unsupported(key, "weights so transformed");
}

function isEmptyTransform(value: Readonly<Record<string, unknown>>): boolean {
  const { config_groups: groups, ...others } = value;
  return isJsonObject(groups) && Object.keys(groups).length === 0 && Object.keys(others).length === 0;
}
