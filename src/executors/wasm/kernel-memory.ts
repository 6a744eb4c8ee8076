import { HalfbyteError } from "../../errors.ts";

const PAGE_BYTES = 65536;
/** 4 GiB, where 32-bit addresses end. */
const MOST_PAGES = 65536;
/** Less is asked for where a browser does not give address space for that much: 2 GiB, 1 GiB. */
const MAXIMA = [MOST_PAGES, 32768, 16384];

/** A WebAssembly memory with views of it that stay right when it grows. */
export class KernelMemory {
  readonly memory: WebAssembly.Memory;
  bytes: Uint8Array;
  words: Int32Array;
  floats: Float32Array;

  private constructor(memory: WebAssembly.Memory) {
    this.memory = memory;
    this.bytes = new Uint8Array(memory.buffer);
    this.words = new Int32Array(memory.buffer);
    this.floats = new Float32Array(memory.buffer);
  }

  /** Throws ERR_MEMORY when `byteLength` bytes cannot be had. */
  static allocate(byteLength: number, shared: boolean): KernelMemory {
    const initial = Math.ceil(byteLength / PAGE_BYTES);
    if (initial > MOST_PAGES) throw noMemory(byteLength);
    let cause: unknown;
    for (const maximum of MAXIMA) {
      if (maximum < initial) break;
      try {
        return new KernelMemory(new WebAssembly.Memory({ initial, maximum, shared }));
      } catch (error) {
        cause = error;
      }
    }
    throw noMemory(byteLength, cause);
  }

  get byteLength(): number {
    return this.bytes.byteLength;
  }

  /** Grows to at least `byteLength` bytes. Throws ERR_MEMORY when they cannot be had; nothing has changed then. */
  ensure(byteLength: number): void {
    const pages = Math.ceil(byteLength / PAGE_BYTES) - this.byteLength / PAGE_BYTES;
    if (pages <= 0) return;
    try {
      this.memory.grow(pages);
    } catch (cause) {
      throw noMemory(byteLength, cause);
    }
    this.bytes = new Uint8Array(this.memory.buffer);
    this.words = new Int32Array(this.memory.buffer);
    this.floats = new Float32Array(this.memory.buffer);
  }
}

function noMemory(byteLength: number, cause?: unknown): HalfbyteError {
  return new HalfbyteError("ERR_MEMORY", "the WebAssembly executor cannot get enough memory", {
    expected: `${byteLength} bytes`,
    remedy: "use a smaller model or context; a WebAssembly memory ends at 4 GiB",
    cause,
  });
}
