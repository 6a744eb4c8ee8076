import { type ByteSource, readBytes } from "./byte-source.ts";

/** Where a tensor stands, in whatever format. */
export interface TensorPlace {
  readonly source: ByteSource;
  readonly offset: number;
  readonly byteLength: number;
}

/** All bytes of a tensor, in memory of their own. */
export function tensorBytes(tensor: TensorPlace): Promise<Uint8Array<ArrayBuffer>> {
  return readBytes(tensor.source, tensor.offset, tensor.byteLength);
}
