import { HalfbyteError } from "../errors.ts";
import type { DecoderConfig, LayerConfig } from "../models/decoder-config.ts";
import { ropeDivisors } from "../plan/rope-table.ts";

/** Formats differ in how they lay these out; converting tensors takes care of them. */
const LAYOUT = new Set<string>(["pairing", "normsPlusOne"]);

/**
 * Throws ERR_UNSUPPORTED, naming what, where a configuration that was written reads back as another: the format has no
 * word for it. Numbers agree when they are one as f32.
 */
export function checkSameDecoder(from: DecoderConfig, to: DecoderConfig, format: string): void {
  for (const key of new Set([...Object.keys(from), ...Object.keys(to)]) as Set<keyof DecoderConfig>) {
    if (!LAYOUT.has(key) && key !== "layers") compare(key, from[key], to[key], format);
  }
  compare("number of layers", from.layers.length, to.layers.length, format);
  for (const [l, layer] of from.layers.entries()) {
    const other = to.layers[l]!;
    compare(`sliding window of layer ${l}`, layer.window, other.window, format);
    compare(`rotary embedding of layer ${l}`, rotaryOf(layer), rotaryOf(other), format);
  }
}

function compare(what: string, from: unknown, to: unknown, format: string): void {
  const [expected, got] = [shownValue(from), shownValue(to)];
  if (expected === got) return;
  throw new HalfbyteError("ERR_UNSUPPORTED", `${format} cannot say this of the model`, { place: what, expected, got });
}

function shownValue(value: unknown): string {
  return JSON.stringify(value, (_, inner) => (typeof inner === "number" ? Math.fround(inner) : inner)) ?? "none";
}

/** Writers of GGUF compute divisors of frequencies in f32, and agree to so many digits. */
const DIVISOR_DIGITS = 5;

function rotaryOf({ rope }: LayerConfig): unknown {
  const divisors = Array.from(ropeDivisors(rope), (divisor) => divisor.toPrecision(DIVISOR_DIGITS));
  return { rotary: rope.rotary, base: rope.base, divisors };
}
