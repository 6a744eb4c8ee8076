import type { Tensor } from "../src/formats/encodings/tensors.ts";

/** A safetensors file with the header's text as given, right or wrong, and data of zeros or as given. */
export function writeSafetensors(header: string | object, data: number | Uint8Array = 0): Uint8Array<ArrayBuffer> {
  const text = new TextEncoder().encode(typeof header === "string" ? header : JSON.stringify(header));
  const body = typeof data === "number" ? new Uint8Array(data) : data;
  const bytes = new Uint8Array(8 + text.byteLength + body.byteLength);
  new DataView(bytes.buffer).setBigUint64(0, BigInt(text.byteLength), true);
  bytes.set(text, 8);
  bytes.set(body, 8 + text.byteLength);
  return bytes;
}

/** A right safetensors file of these tensors. */
export function safetensorsOf(tensors: Iterable<readonly [name: string, tensor: Tensor]>): Uint8Array<ArrayBuffer> {
  const header: Record<string, object> = {};
  const all = [...tensors];
  let size = 0;
  for (const [name, { dtype, shape, bytes }] of all)
    header[name] = { dtype, shape, data_offsets: [size, (size += bytes.byteLength)] };
  const data = new Uint8Array(size);
  let at = 0;
  for (const [, { bytes }] of all) {
    data.set(bytes, at);
    at += bytes.byteLength;
  }
  return writeSafetensors(header, data);
}
