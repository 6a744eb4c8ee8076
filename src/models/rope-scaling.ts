import { log64 } from "../arithmetic/functions64.ts";
import { HalfbyteError } from "../errors.ts";
import type { RopeScaling } from "../plan/rope-table.ts";
import type { ConfigReader } from "./config-reader.ts";
import * as limits from "./limits.ts";

/**
 * What rotary parameters say of longer contexts, for `rotary` dims. Throws ERR_UNSUPPORTED for a type that is not known.
 * Source of defaults: transformers 5.24, modeling_rope_utils.py.
 */
export function ropeScaling(parameters: ConfigReader, config: ConfigReader, rotary: number): RopeScaling | undefined {
  const key = parameters.has("rope_type") ? "rope_type" : "type";
  const type = parameters.text(key, "default");
  switch (type) {
    case "default":
      return undefined;
    case "linear":
      return { type, factor: parameters.positive("factor") };
    case "llama3": {
      const scaling: RopeScaling = {
        type,
        factor: parameters.positive("factor"),
        lowFrequencyFactor: parameters.positive("low_freq_factor"),
        highFrequencyFactor: parameters.positive("high_freq_factor"),
        originalContext: parameters.count("original_max_position_embeddings", limits.MAX_CONTEXT),
      };
      if (scaling.highFrequencyFactor > scaling.lowFrequencyFactor) return scaling;
      throw new HalfbyteError("ERR_FORMAT", "unusable band of frequencies", {
        place: parameters.place("high_freq_factor"),
        expected: `more than low_freq_factor, ${scaling.lowFrequencyFactor}`,
        got: String(scaling.highFrequencyFactor),
      });
    }
    case "yarn":
      return yarn(parameters, config);
    // Its first name.
    case "su":
    case "longrope":
      return longRope(parameters, config, rotary);
    default:
      throw parameters.unsupported(key, "this rotary scaling");
  }
}

const ORIGINAL = "original_max_position_embeddings";

function originalContext(parameters: ConfigReader, config: ConfigReader, absent: number): number {
  const reader = parameters.has(ORIGINAL) ? parameters : config;
  return reader.count(ORIGINAL, limits.MAX_CONTEXT, absent);
}

function yarn(parameters: ConfigReader, config: ConfigReader): RopeScaling {
  const factor = parameters.positive("factor");
  // Fewer numbers of a longer context grow by this when they are magnified.
  const grown = (by: number): number => (factor <= 1 ? 1 : 0.1 * by * log64(factor) + 1);
  const [all, part] = [parameters.positive("mscale_all_dim", 0), parameters.positive("mscale", 0)];
  return {
    type: "yarn",
    factor,
    fast: parameters.positive("beta_fast", 32),
    slow: parameters.positive("beta_slow", 1),
    truncated: parameters.boolean("truncate", true),
    originalContext: originalContext(parameters, config, config.count("max_position_embeddings", limits.MAX_CONTEXT)),
    magnitude: parameters.positive("attention_factor", all && part ? grown(part) / grown(all) : grown(1)),
  };
}

function longRope(parameters: ConfigReader, config: ConfigReader, rotary: number): RopeScaling {
  const original = originalContext(parameters, config, 4096);
  const context = config.count("max_position_embeddings", limits.MAX_CONTEXT, 4096);
  const factor = parameters.positive("factor", context / original);
  return {
    type: "longrope",
    short: divisors(parameters, "short_factor", rotary),
    long: divisors(parameters, "long_factor", rotary),
    originalContext: original,
    magnitude: parameters.positive(
      "attention_factor",
      factor <= 1 ? 1 : Math.sqrt(1 + log64(factor) / log64(original)),
    ),
  };
}

/** One number above 0 for each frequency. */
function divisors(parameters: ConfigReader, key: string, rotary: number): readonly number[] {
  const list = parameters.array(key);
  if (!list)
    throw new HalfbyteError("ERR_MISSING", "the model's configuration lacks this", { place: parameters.place(key) });
  const good = list.every((each) => typeof each === "number" && Number.isFinite(each) && each > 0);
  if (good && list.length === rotary / 2) return list as readonly number[];
  throw new HalfbyteError("ERR_FORMAT", "not one number above 0 for each frequency", {
    place: parameters.place(key),
    expected: `${rotary / 2} numbers`,
    got: `a list of ${list.length}`,
  });
}
