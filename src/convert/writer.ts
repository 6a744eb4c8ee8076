import type { GgmlType } from "../formats/ggml/types.ts";
import type { SafetensorsDtype } from "../formats/safetensors/open-safetensors.ts";

/** A file that is being written, in any order of its bytes. */
export interface ByteSink {
  write(offset: number, bytes: Uint8Array): Promise<void>;
}

/** Where the files of a model go. See node-output.ts for one on disk that shows nothing before all is done. */
export interface OutputFolder {
  /** A new file; the name has no folder in it. */
  file(name: string): Promise<ByteSink>;
}

/** A tensor of a file to be, before any of its bytes are known. */
export interface OutgoingHeader {
  readonly name: string;
  readonly byteLength: number;
}

export interface SafetensorsHeader extends OutgoingHeader {
  readonly dtype: SafetensorsDtype;
  /** Outermost dimension first. */
  readonly shape: readonly number[];
}

export interface GgufHeader extends OutgoingHeader {
  readonly type: GgmlType;
  /** Innermost dimension first, as GGUF has it. */
  readonly shape: readonly number[];
}

/** Bytes of the tensor of that name, from `offset` in it on. They are written when the promise is settled. */
export type Put = (name: string, offset: number, bytes: Uint8Array) => Promise<void>;

/**
 * A tensor on its way into a file, or all tensors of one quantised matrix. Its sizes are known before, its bytes come
 * piece by piece: memory stays bounded whatever the size of the model. See outgoing.ts for the kinds there are.
 */
export interface Outgoing<Header extends OutgoingHeader> {
  readonly tensors: readonly Header[];
  write(put: Put, signal?: AbortSignal): Promise<void>;
}

export interface WriteOptions {
  readonly signal?: AbortSignal | undefined;
  /** Bytes of tensors written, and of all there are. */
  readonly onProgress?: ((done: number, total: number) => void) | undefined;
}

/**
 * Writes tensors through `sinkOf`, which tells where each begins, one after the other: a source is read in the order of
 * its file, and one piece is in memory at a time.
 */
export async function writeAll<Header extends OutgoingHeader>(
  outgoing: readonly Outgoing<Header>[],
  sinkOf: (name: string) => { readonly sink: ByteSink; readonly offset: number },
  { signal, onProgress }: WriteOptions,
): Promise<void> {
  const total = outgoing.reduce((sum, { tensors }) => tensors.reduce((s, { byteLength }) => s + byteLength, sum), 0);
  let done = 0;
  for (const each of outgoing) {
    signal?.throwIfAborted();
    await each.write(async (name, offset, bytes) => {
      const { sink, offset: start } = sinkOf(name);
      await sink.write(start + offset, bytes);
      done += bytes.byteLength;
      onProgress?.(done, total);
    }, signal);
  }
}
