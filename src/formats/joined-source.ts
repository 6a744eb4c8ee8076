import { HalfbyteError } from "../errors.ts";
import { type ByteSource, guardedSource } from "./byte-source.ts";

/**
 * Several sources seen as one, end to end: a file that was cut into pieces. Closing it closes the parts.
 * (A GGUF of several parts with headers of their own is not this: give those to `openGguf` as a list.)
 */
export function joinedSource(parts: readonly ByteSource[], name: string = joinedName(parts)): ByteSource {
  const starts: number[] = [];
  let size = 0;
  for (const part of parts) {
    starts.push(size);
    size += part.size;
  }
  if (!Number.isSafeInteger(size)) {
    throw new HalfbyteError("ERR_LIMIT", "the parts are too large together", { place: name, got: `${size} bytes` });
  }
  const read = async (offset: number, target: Uint8Array): Promise<void> => {
    const end = offset + target.byteLength;
    for (const [index, part] of parts.entries()) {
      const from = Math.max(offset, starts[index]!);
      const to = Math.min(end, starts[index]! + part.size);
      if (from < to) await part.readInto(from - starts[index]!, target.subarray(from - offset, to - offset));
    }
  };
  return guardedSource(name, size, read, async () => {
    await Promise.all(parts.map((part) => part.close()));
  });
}

function joinedName(parts: readonly ByteSource[]): string {
  const first = parts[0]?.name ?? "no parts";
  return parts.length > 1 ? `${first} and ${parts.length - 1} more` : first;
}
