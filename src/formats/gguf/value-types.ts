import { HalfbyteError } from "../../errors.ts";
import type { GgufType } from "./metadata.ts";

/** By number, as files have it. */
const TYPES: readonly GgufType[] = [
  "u8",
  "i8",
  "u16",
  "i16",
  "u32",
  "i32",
  "f32",
  "bool",
  "string",
  "array",
  "u64",
  "i64",
  "f64",
];

/** The value type of a number in a file; ERR_FORMAT at `place` for a number that is none. */
export function typeOf(id: number, place: string): GgufType {
  const type = TYPES[id];
  if (!type) {
    throw new HalfbyteError("ERR_FORMAT", "unknown value type", { place, expected: "0 to 12", got: String(id) });
  }
  return type;
}

/** Bytes of one element in an array, or undefined for strings and arrays, which differ. */
export function elementBytes(type: GgufType): number | undefined {
  if (type === "string" || type === "array") return undefined;
  return type === "bool" ? 1 : Number(type.slice(1)) / 8;
}
