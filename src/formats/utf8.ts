import { HalfbyteError } from "../errors.ts";

const utf8: TextDecoder = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });

/** UTF-8 bytes as text; ERR_FORMAT at `place` where they are none. */
export function decodeUtf8(bytes: Uint8Array, place: string): string {
  try {
    return utf8.decode(bytes);
  } catch (cause) {
    throw new HalfbyteError("ERR_FORMAT", "text that is not UTF-8", { place, cause });
  }
}
