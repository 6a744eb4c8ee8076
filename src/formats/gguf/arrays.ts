import { HalfbyteError } from "../../errors.ts";
import { decodeUtf8 } from "../utf8.ts";
import { Cursor } from "./cursor.ts";
import { MAX_ARRAY_DEPTH, MAX_ARRAY_ELEMENTS, MAX_STRING_BYTES } from "./limits.ts";
import type { GgufType } from "./metadata.ts";
import { typeOf } from "./value-types.ts";

export type GgufNumbers =
  | Uint8Array
  | Int8Array
  | Uint16Array
  | Int16Array
  | Uint32Array
  | Int32Array
  | Float32Array
  | Float64Array;

export type GgufValue = number | bigint | boolean | string | GgufValue[];

/**
 * `count` strings, each its length as u64 and its bytes. The texts are put end to end and decoded in one call, a third
 * of the time of a call for each; a string of valid UTF-8 is one that does not begin inside a character.
 */
export function decodeStrings(bytes: Uint8Array, count: number, place: string): string[] {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const joined = new Uint8Array(bytes.byteLength);
  const utf16Lengths = new Uint32Array(count);
  let at = 0;
  let end = 0;
  for (let i = 0; i < count; i++) {
    const length = bytes.byteLength - at >= 8 ? view.getUint32(at, true) + view.getUint32(at + 4, true) * 2 ** 32 : 0;
    if (bytes.byteLength - at < 8 + length) throw new HalfbyteError("ERR_TRUNCATED", `string ${i} is cut`, { place });
    at += 8;
    if (length > 0 && (bytes[at]! & 0xc0) === 0x80) throw notUtf8(i, place);
    let utf16Length = 0;
    for (const last = at + length; at < last; at++) {
      const byte = bytes[at]!;
      joined[end++] = byte;
      if ((byte & 0xc0) !== 0x80) utf16Length += byte >= 0xf0 ? 2 : 1;
    }
    utf16Lengths[i] = utf16Length;
  }
  const text = decodeUtf8(joined.subarray(0, end), place);
  const strings: string[] = new Array(count);
  let from = 0;
  for (let i = 0; i < count; i++) {
    const to = from + utf16Lengths[i]!;
    strings[i] = text.slice(from, to);
    from = to;
  }
  return strings;
}

function notUtf8(index: number, place: string): HalfbyteError {
  return new HalfbyteError("ERR_FORMAT", `string ${index} is not UTF-8`, { place });
}

export function decodeNumbers(
  bytes: Uint8Array,
  type: Exclude<GgufType, "string" | "array">,
  count: number,
  place: string,
): GgufNumbers {
  const cursor = new Cursor(place, bytes);
  const out = emptyNumbers(type, count);
  for (let i = 0; i < count; i++) {
    const value = cursor[type]();
    if (typeof value === "bigint") {
      throw new HalfbyteError("ERR_LIMIT", "integer past 2^53", { place: `${place}, element ${i}`, got: `${value}` });
    }
    out[i] = Number(value);
  }
  return out;
}

function emptyNumbers(type: Exclude<GgufType, "string" | "array">, count: number): GgufNumbers {
  switch (type) {
    case "u8":
    case "bool":
      return new Uint8Array(count);
    case "i8":
      return new Int8Array(count);
    case "u16":
      return new Uint16Array(count);
    case "i16":
      return new Int16Array(count);
    case "u32":
      return new Uint32Array(count);
    case "i32":
      return new Int32Array(count);
    case "f32":
      return new Float32Array(count);
    default:
      return new Float64Array(count);
  }
}

export function decodeArray(bytes: Uint8Array, type: GgufType, count: number, place: string): GgufValue[] {
  return arrayAt(new Cursor(place, bytes), type, count, 1);
}

function arrayAt(cursor: Cursor, type: GgufType, count: number, depth: number): GgufValue[] {
  const values: GgufValue[] = [];
  for (let i = 0; i < count; i++) {
    if (type === "string") {
      values.push(decodeUtf8(cursor.raw(cursor.count("string length", MAX_STRING_BYTES)), cursor.place));
    } else if (type === "array") {
      if (depth >= MAX_ARRAY_DEPTH)
        throw new HalfbyteError("ERR_LIMIT", "arrays nest too deep", { place: cursor.place });
      const inner = typeOf(cursor.u32(), cursor.place);
      values.push(arrayAt(cursor, inner, cursor.count("array length", MAX_ARRAY_ELEMENTS), depth + 1));
    } else {
      values.push(cursor[type]());
    }
  }
  return values;
}
