import { type ByteSource, guardedSource } from "./byte-source.ts";

/** Bytes that are in memory already; they are not copied. */
export function memorySource(data: ArrayBufferLike | Uint8Array, name = "bytes in memory"): ByteSource {
  const bytes = data instanceof Uint8Array ? data : new Uint8Array(data);
  return guardedSource(name, bytes.byteLength, (offset, target) => {
    target.set(bytes.subarray(offset, offset + target.byteLength));
  });
}
