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
