import { afterAll, describe, expect, it } from "vitest";
import { type WrittenTensor, type WrittenValue, writeGguf } from "../../test/gguf-writer.ts";
import { mutate, seededRandom } from "../../test/mutate.ts";
import { writeSafetensors } from "../../test/safetensors-writer.ts";
import { HalfbyteError } from "../errors.ts";
import type { ByteSource } from "./byte-source.ts";
import { decodeToFloat, decodeToMatrix } from "./ggml/decode.ts";
import { ggmlTypes } from "./ggml/types.ts";
import type { GgufFile } from "./gguf/open-gguf.ts";
import { openGguf } from "./gguf/open-gguf.ts";
import { memorySource } from "./memory-source.ts";
import { ggufFloats, safetensorsFloats } from "./read-tensor.ts";
import { openHuggingFaceFolder } from "./safetensors/hugging-face-folder.ts";
import { openSafetensors, type SafetensorsTensor } from "./safetensors/open-safetensors.ts";

/** How long all targets together run; `npm run fuzz` sets ten minutes. */
const SECONDS = Number(process.env.HALFBYTE_FUZZ_SECONDS ?? 5);
/** A failure names its seed; given here, that input is the first one. */
const SEED = Number(process.env.HALFBYTE_FUZZ_SEED ?? Date.now() % 2 ** 31);

/** One input takes under a millisecond; the rest is for a busy machine and its garbage collector. */
const MAX_MS_PER_INPUT = 2000;
/** One allocation, over the input's size: f64 numbers from one byte each, codes and floats from blocks of under 2 bits. */
const ALLOCATION_FACTOR = 24;
const ALLOCATION_SLACK = 64 * 1024;
/** All reads of an input together, over its size: opening, then every array and tensor once or twice. */
const READ_FACTOR = 8;

const text = (value: string): WrittenValue => ({ type: "string", value });
const numbers = (of: "u8" | "i32" | "f32" | "u64" | "bool", value: (number | boolean)[]): WrittenValue => ({
  type: "array",
  of,
  value,
});

function ggufEntries(): [string, WrittenValue][] {
  return [
    ["general.architecture", text("llama")],
    ["general.alignment", { type: "u32", value: 32 }],
    ["a.u8", { type: "u8", value: 200 }],
    ["a.i16", { type: "i16", value: -3 }],
    ["a.f32", { type: "f32", value: 1e-5 }],
    ["a.f64", { type: "f64", value: 0.1 }],
    ["a.u64", { type: "u64", value: 2n ** 63n }],
    ["a.bool", { type: "bool", value: true }],
    ["tokens", { type: "array", of: "string", value: ["<s>", "日本", "🦙", "", "long enough to be sliced"] }],
    ["scores", numbers("f32", [0, -1, 2.5])],
    ["types", numbers("i32", [1, 2, 3, -4])],
    ["flags", numbers("bool", [true, false])],
    ["large", numbers("u64", [1, 2 ** 40])],
    [
      "nested",
      { type: "array", of: "array", value: [numbers("u8", [1, 2]), { type: "array", of: "string", value: ["x"] }] },
    ],
  ];
}

function ggufTensors(): WrittenTensor[] {
  return ggmlTypes().map((type, i) => ({
    name: `blk.${i}.${type.name}`,
    type: type.id,
    shape: [type.blockSize * 2, 1 + (i % 3)],
  }));
}

function splitParts(): Uint8Array[] {
  return [0, 1].map((part) =>
    writeGguf({
      entries: [
        ["split.no", { type: "u16", value: part }],
        ["split.count", { type: "u16", value: 2 }],
        ["split.tensors.count", { type: "i32", value: 4 }],
      ],
      tensors: [0, 1].map((i) => ({ name: `t${part}.${i}`, type: 0, shape: [4, 2] })),
    }),
  );
}

const tensorInfo = (dtype: string, shape: number[], from: number, to: number): object => ({
  dtype,
  shape,
  data_offsets: [from, to],
});
const safetensors: Uint8Array = writeSafetensors(
  {
    __metadata__: { format: "pt" },
    "model.embed.weight": tensorInfo("BF16", [4, 8], 0, 64),
    "model.norm.weight": tensorInfo("F32", [8], 64, 96),
    half: tensorInfo("F16", [2, 2, 2], 96, 112),
    ids: tensorInfo("I64", [], 112, 120),
  },
  120,
);
const folderFiles: Record<string, Uint8Array> = {
  "config.json": encode({ model_type: "llama", rope_parameters: { rope_theta: 1e5 }, layers: [1, 2.5, -3, null, "x"] }),
  "generation_config.json": encode({ eos_token_id: [1, 2] }),
  "model.safetensors.index.json": encode({ weight_map: { a: "x-1.safetensors", b: "x-2.safetensors" } }),
  "x-1.safetensors": writeSafetensors({ a: tensorInfo("F32", [2], 0, 8) }, 8),
  "x-2.safetensors": writeSafetensors({ b: tensorInfo("F16", [2, 2], 0, 8) }, 8),
};

function encode(json: unknown): Uint8Array {
  return new TextEncoder().encode(JSON.stringify(json));
}

/** Watches what the parsers read and allocate while one input is tried. */
class Watch {
  inputBytes = 0;
  readBytes = 0;
  largestAllocation = 0;

  source(bytes: Uint8Array): ByteSource {
    this.inputBytes += bytes.byteLength;
    const inner = memorySource(bytes, "fuzzed");
    return {
      ...inner,
      readInto: (offset, target) => {
        this.readBytes += target.byteLength;
        return inner.readInto(offset, target);
      },
    };
  }
}

let watch: Watch = new Watch();
const constructors = [
  "Uint8Array",
  "Int8Array",
  "Uint16Array",
  "Int16Array",
  "Uint32Array",
  "Int32Array",
  "Float32Array",
  "Float64Array",
  "Array",
] as const;
const originals = constructors.map((name) => [name, globalThis[name]] as const);

/** Every typed array or Array that is made by its length tells the watch. */
function watchAllocations(): void {
  for (const [name, original] of originals) {
    const bytesEach = "BYTES_PER_ELEMENT" in original ? original.BYTES_PER_ELEMENT : 8;
    const watched = new Proxy(original, {
      construct(target, args, newTarget) {
        if (typeof args[0] === "number")
          watch.largestAllocation = Math.max(watch.largestAllocation, args[0] * bytesEach);
        return Reflect.construct(target, args, newTarget === globalThis[name] ? target : newTarget);
      },
    });
    Object.assign(globalThis, { [name]: watched });
  }
}

function stopWatching(): void {
  Object.assign(globalThis, Object.fromEntries(originals));
}
afterAll(stopWatching);

async function useGguf(file: GgufFile): Promise<void> {
  const { metadata, tensors } = file;
  for (const entry of metadata) {
    if (entry.type === "array") {
      await tolerate(() => metadata.array(entry.key));
      await tolerate(() =>
        entry.elementType === "string" ? metadata.strings(entry.key) : metadata.numbers(entry.key),
      );
    } else {
      for (const read of ["string", "number", "integer", "boolean"] as const)
        await tolerate(() => metadata[read](entry.key));
    }
  }
  const ends = new Map<ByteSource, number>();
  for (const tensor of [...tensors.values()].sort((a, b) => a.offset - b.offset)) {
    const inside =
      tensor.offset >= (ends.get(tensor.source) ?? 24) && tensor.offset + tensor.byteLength <= tensor.source.size;
    const whole = (tensor.K / tensor.type.blockSize) * tensor.type.blockBytes * tensor.N === tensor.byteLength;
    if (!inside || !whole) throw new Error(`tensor ${tensor.name} is not where it may be`);
    ends.set(tensor.source, tensor.offset + tensor.byteLength);
    if (tensor.type.decodes) await ggufFloats(tensor);
    else await tolerate(() => ggufFloats(tensor));
  }
}

async function useSafetensors(tensors: ReadonlyMap<string, SafetensorsTensor>): Promise<void> {
  for (const tensor of tensors.values()) {
    const elementBytes = { F32: 4, F16: 2, BF16: 2, I64: 8, U8: 1 }[tensor.dtype as string];
    const expected = tensor.shape.reduce((product, size) => product * size, elementBytes ?? 0);
    const whole = elementBytes === undefined || tensor.byteLength === expected;
    if (!whole || tensor.offset + tensor.byteLength > tensor.source.size)
      throw new Error(`tensor ${tensor.name} is wrong`);
    await tolerate(() => safetensorsFloats(tensor));
  }
}

/** Anything but a HalfbyteError goes on. */
async function tolerate(run: () => unknown): Promise<void> {
  try {
    await run();
  } catch (error) {
    if (!(error instanceof HalfbyteError)) throw error;
  }
}

const types = ggmlTypes().filter((type) => type.decodes);
const wholeGguf = writeGguf({ entries: ggufEntries(), tensors: ggufTensors() });
const parts = splitParts();

const targets: [name: string, tryOne: (random: () => number) => Promise<void>][] = [
  ["a GGUF file", async (random) => useGguf(await openGguf(watch.source(mutate(wholeGguf, random))))],
  [
    "a GGUF file that describes itself wrongly",
    async (random) => {
      const pick = <T>(of: readonly T[]): T => of[Math.floor(random() * of.length)]!;
      const sizes = [0, -1, 1, 2, 31, 32, 33, 256, 2 ** 16, 2 ** 31, 2 ** 32, 2 ** 53, 2n ** 62n];
      const entries = ggufEntries().filter(() => random() < 0.5);
      if (random() < 0.3) entries.push(["general.alignment", { type: "u32", value: pick([0, 1, 3, 64, 2 ** 31]) }]);
      const tensors = Array.from(
        { length: Math.floor(random() * 4) },
        (_, i): WrittenTensor => ({
          name: random() < 0.1 ? "t0" : `t${i}`,
          type: Math.floor(random() * 44),
          shape: Array.from({ length: Math.floor(random() * 6) }, () =>
            random() < 0.6 ? pick([32, 256]) : pick(sizes),
          ),
          ...(random() < 0.3 && { offset: pick(sizes) }),
        }),
      );
      const counts = random() < 0.2 ? { tensorCount: pick(sizes), keyCount: pick(sizes) } : {};
      await useGguf(await openGguf(watch.source(writeGguf({ entries, tensors, ...counts }))));
    },
  ],
  [
    "a split GGUF",
    async (random) => {
      const changed = parts.map((part) => watch.source(random() < 0.7 ? mutate(part, random) : part));
      await useGguf(await openGguf(changed));
    },
  ],
  [
    "a safetensors file",
    async (random) => useSafetensors((await openSafetensors(watch.source(mutate(safetensors, random)))).tensors),
  ],
  [
    "a Hugging Face folder",
    async (random) => {
      const names = Object.keys(folderFiles);
      const victim = names[Math.floor(random() * names.length)]!;
      const model = await openHuggingFaceFolder(async (name) => {
        const file = folderFiles[name];
        return file && watch.source(name === victim ? mutate(file, random) : file);
      });
      await useSafetensors(model.tensors);
    },
  ],
  [
    "blocks of every type",
    async (random) => {
      const type = types[Math.floor(random() * types.length)]!;
      const bytes = Uint8Array.from({ length: type.blockBytes * 6 }, () => Math.floor(random() * 256));
      watch.inputBytes += bytes.byteLength;
      decodeToMatrix(type, bytes, 3, type.blockSize * 2);
      decodeToFloat(type, bytes, new Float32Array(type.blockSize * 6));
      const cut = Math.floor(random() * bytes.byteLength);
      await tolerate(() => decodeToMatrix(type, bytes.subarray(cut), 3, type.blockSize * 2));
    },
  ],
];

describe("whatever the bytes, nothing but a HalfbyteError, in bounded memory and time", () => {
  it.each(targets)(
    "%s",
    async (name, tryOne) => {
      const end = performance.now() + (SECONDS * 1000) / targets.length;
      let inputs = 0;
      let accepted = 0;
      watchAllocations();
      try {
        for (let seed = SEED; performance.now() < end; seed++, inputs++) {
          watch = new Watch();
          const start = performance.now();
          try {
            await tolerate(async () => {
              await tryOne(seededRandom(seed));
              accepted++;
            });
            const { inputBytes, readBytes, largestAllocation } = watch;
            const ms = performance.now() - start;
            const allocationLimit = inputBytes * ALLOCATION_FACTOR + ALLOCATION_SLACK;
            if (ms > MAX_MS_PER_INPUT || largestAllocation > allocationLimit || readBytes > inputBytes * READ_FACTOR) {
              throw new Error(
                `${inputBytes} bytes: ${ms} ms, ${largestAllocation} bytes allocated at once, ${readBytes} read`,
              );
            }
          } catch (cause) {
            throw new Error(`${name}: failed with HALFBYTE_FUZZ_SEED=${seed}`, { cause });
          }
        }
      } finally {
        stopWatching();
      }
      // A fuzzer that is refused at the door every time tries nothing behind it.
      expect(inputs).toBeGreaterThan(0);
      if (inputs > 1000) expect(accepted / inputs).toBeGreaterThan(0.01);
      if (process.env.HALFBYTE_FUZZ_SECONDS) console.log(`${name}: ${inputs} inputs, ${accepted} of them accepted`);
    },
    SECONDS * 1000 + 60_000,
  );
});
