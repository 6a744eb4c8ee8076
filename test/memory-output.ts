import type { ByteSink, OutputFolder } from "../src/convert/writer.ts";
import { memorySource } from "../src/formats/memory-source.ts";
import { type HuggingFaceFolder, openHuggingFaceFolder } from "../src/formats/safetensors/hugging-face-folder.ts";

/** A file in memory, as far as it was written; bytes that were not are 0xaa. */
export class MemorySink implements ByteSink {
  bytes: Uint8Array<ArrayBuffer> = new Uint8Array(0);

  async write(offset: number, bytes: Uint8Array): Promise<void> {
    const end = offset + bytes.byteLength;
    if (end > this.bytes.byteLength) {
      const larger = new Uint8Array(end).fill(0xaa);
      larger.set(this.bytes);
      this.bytes = larger;
    }
    this.bytes.set(bytes, offset);
  }
}

/** A folder in memory that can be opened as a model. */
export class MemoryFolder implements OutputFolder {
  readonly files: Map<string, MemorySink> = new Map();

  async file(name: string): Promise<ByteSink> {
    const sink = new MemorySink();
    this.files.set(name, sink);
    return sink;
  }

  open(): Promise<HuggingFaceFolder> {
    return openHuggingFaceFolder(async (name) => {
      const sink = this.files.get(name);
      return sink && memorySource(sink.bytes, name);
    });
  }
}
