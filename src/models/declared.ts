import { HalfbyteError } from "../errors.ts";
import type { ConfigReader } from "./config-reader.ts";

/** Sizes of groups in use end at 1024; matrices have at most so many inputs. */
const MAX_GROUP = 1_048_576;

/** Throws ERR_UNSUPPORTED for codes that are not of one of `widths`. */
export function codeBits(config: ConfigReader, key: string, ...widths: number[]): number | undefined {
  const bits = config.count(key, 64, undefined);
  const readable = widths.length > 0 ? widths : [4, 8];
  if (bits === undefined || readable.includes(bits)) return bits;
  throw new HalfbyteError("ERR_UNSUPPORTED", "codes of this width cannot be read", {
    place: config.place(key),
    expected: `${readable.join(" or ")} bits`,
    got: String(bits),
  });
}

/** −1 where there is one group per output. */
export function groupSize(config: ConfigReader, key: string): number | undefined {
  return config.raw(key) === -1 ? -1 : config.count(key, MAX_GROUP, undefined);
}

export function isEmbedding(matrix: string): boolean {
  return /(^|\.)(embed_tokens|embedding)$/.test(matrix);
}

export function isOutput(matrix: string): boolean {
  return matrix.endsWith("lm_head");
}
