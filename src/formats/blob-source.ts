import { HalfbyteError } from "../errors.ts";
import { type ByteSource, guardedSource } from "./byte-source.ts";

/** A Blob gives its bytes in a buffer of its own; larger reads go in pieces so that this copy stays small. */
const PIECE_BYTES = 8 * 1024 * 1024;

/** A Blob or File, read by slices. Reading throws ERR_IO when the browser cannot, say because the file changed on disk. */
export function blobSource(blob: Blob, name: string = "name" in blob ? String(blob.name) : "blob"): ByteSource {
  return guardedSource(name, blob.size, async (offset, target) => {
    for (let done = 0; done < target.byteLength; done += PIECE_BYTES) {
      const length = Math.min(PIECE_BYTES, target.byteLength - done);
      const piece = await readPiece(blob.slice(offset + done, offset + done + length), name);
      if (piece.byteLength !== length) {
        throw new HalfbyteError("ERR_TRUNCATED", "the blob gave fewer bytes than it has", {
          place: name,
          expected: `${length} bytes at ${offset + done}`,
          got: String(piece.byteLength),
        });
      }
      target.set(new Uint8Array(piece), done);
    }
  });
}

async function readPiece(piece: Blob, name: string): Promise<ArrayBuffer> {
  try {
    return await piece.arrayBuffer();
  } catch (cause) {
    throw new HalfbyteError("ERR_IO", "cannot read the blob", { place: name, remedy: "choose the file again", cause });
  }
}
