import { type CapacityOptions, checkCapacity } from "./engine/capacity.ts";
import { HalfbyteError } from "./errors.ts";
import type { PreparedExecutor } from "./executors/executor.ts";
import { blobSource } from "./formats/blob-source.ts";
import type { ByteSource } from "./formats/byte-source.ts";
import { type GgufFile, openGguf } from "./formats/gguf/open-gguf.ts";
import { openHttpSource } from "./formats/http-source.ts";
import { memorySource } from "./formats/memory-source.ts";
import type { HuggingFaceFolder, OpenFile } from "./formats/safetensors/hugging-face-folder.ts";
import type { Model } from "./model.ts";
import type { FloatWeights } from "./models/checkpoint-store.ts";
import { openModel } from "./models/open-model.ts";
import type { ActivationMode, CacheType } from "./plan/plan.ts";

/** What a model can be loaded from anywhere: a URL, a file picked in a page, bytes in memory, or several of them (a split GGUF). */
export type ModelInput = URL | Blob | ArrayBufferLike | Uint8Array | ByteSource;

export interface LoadProgress {
  /** "download": bytes fetched into the cache; "load": bytes of packed weights made. */
  readonly phase: "download" | "load";
  readonly done: number;
  /** Undefined while unknown. */
  readonly total: number | undefined;
}

export interface LoadModelOptions extends CapacityOptions {
  /** "native" (default where its addon loads), "wasm", or "reference". */
  readonly executor?: string;
  /** An instruction set of the executor, by name; an impossible one is refused with the reason. */
  readonly kernel?: string;
  readonly threads?: number;
  /** How activations meet quantised weights: "a8" (default), "a16" (closest to float), "a8-per-token"; or HALFBYTE_ACTIVATIONS. */
  readonly activations?: ActivationMode;
  /** How keys and values are kept. Default "f16". */
  readonly cacheType?: CacheType;
  /** Tokens that prompt and answer may have together; default, and at most, what the model was trained for. */
  readonly contextLength?: number;
  /** Float matrices of a safetensors checkpoint: as they are (default), or in 8-bit groups. */
  readonly floatWeights?: FloatWeights;
  /** A Jinja chat template in place of the model's own. */
  readonly chatTemplate?: string;
  readonly signal?: AbortSignal;
  readonly onProgress?: (progress: LoadProgress) => void;
  /** The name in `model.info`; default the file's. */
  readonly name?: string;
  /** Variables such as HALFBYTE_THREADS; in Node `process.env`. */
  readonly environment?: Readonly<Record<string, string | undefined>>;
}

/** Loads a GGUF model from one input, or from all files of a split one. Closes what it opened if it throws. */
export async function loadGguf(
  inputs: ModelInput | readonly ModelInput[],
  executor: PreparedExecutor,
  options: LoadModelOptions = {},
): Promise<Model> {
  const file = await openInputs(inputs, options.signal);
  try {
    return await loadFile(file, file.sources[0]!.name, executor, options);
  } catch (error) {
    await file.close();
    throw error;
  }
}

/** Opens a GGUF file, or all files of a split one. Closes what it opened if it throws. */
export async function openInputs(
  inputs: ModelInput | readonly ModelInput[],
  signal: AbortSignal | undefined,
): Promise<GgufFile> {
  const sources: ByteSource[] = [];
  try {
    for (const input of isList(inputs) ? inputs : [inputs]) sources.push(await openInput(input, signal));
    return await openGguf(sources);
  } catch (error) {
    await Promise.all(sources.map((source) => source.close()));
    throw error;
  }
}

/** Loads a model in the Hugging Face layout; `open` gives its files by name. Closes what it opened if it throws. */
export async function loadFolder(
  open: OpenFile,
  name: string,
  executor: PreparedExecutor,
  options: LoadModelOptions = {},
): Promise<Model> {
  const { openHuggingFaceFolder } = await import("./formats/safetensors/hugging-face-folder.ts");
  const folder = await openHuggingFaceFolder(open);
  try {
    return await loadFile(folder, name, executor, options);
  } catch (error) {
    await folder.close();
    throw error;
  }
}

async function loadFile(
  file: GgufFile | HuggingFaceFolder,
  source: string,
  executor: PreparedExecutor,
  options: LoadModelOptions,
): Promise<Model> {
  const wished = options.activations ?? (options.environment?.HALFBYTE_ACTIVATIONS || "a8");
  const activations = choice("activations", wished as ActivationMode, ACTIVATIONS);
  const cacheType = choice("cacheType", options.cacheType ?? "f16", CACHE_TYPES);
  const floatWeights = choice("floatWeights", options.floatWeights ?? "keep", FLOAT_WEIGHTS);
  const opened = await openModel(file, { floatWeights, contextLength: options.contextLength });
  const contextLength = checkContext(options.contextLength, opened.config.contextLength);
  const capacity = checkCapacity(options, contextLength);
  const { maxRows, maxLogitRows } = capacity;
  const plan = opened.compile({ activations, cacheType, maxRows, maxLogitRows });
  const loading = executor.load(plan, opened.weights);
  loading.catch(() => {}); // makeModel awaits it, though not yet
  try {
    // Threads read and pack the weights while this one imports the rest and makes the tokenizer.
    const { makeModel } = await import("./make-model.ts");
    return await makeModel(file, loading, {
      name: options.name ?? source.split(/[/\\]/).at(-1)!,
      architecture: opened.architecture.name,
      contextLength,
      capacity,
      weights: opened.weights,
      chatTemplate: options.chatTemplate,
    });
  } catch (error) {
    await executor.dispose();
    // Until then the file is being read.
    await loading.then(
      (runner) => runner.dispose(),
      () => {},
    );
    throw error;
  }
}

const ACTIVATIONS: readonly ActivationMode[] = ["a8", "a16", "a8-per-token"];
const CACHE_TYPES: readonly CacheType[] = ["f16", "f32"];
const FLOAT_WEIGHTS: readonly FloatWeights[] = ["keep", "q8"];

/** The value, if it is one of those known: callers without types can pass anything. */
function choice<T extends string>(place: string, value: T, known: readonly T[]): T {
  if (known.includes(value)) return value;
  throw new HalfbyteError("ERR_ARGUMENT", "no such choice", {
    place,
    expected: known.join(", "),
    got: JSON.stringify(value) ?? "undefined",
  });
}

function checkContext(asked: number | undefined, trained: number): number {
  if (asked === undefined) return trained;
  if (Number.isSafeInteger(asked) && asked >= 2 && asked <= trained) return asked;
  throw new HalfbyteError("ERR_ARGUMENT", "unusable context length", {
    place: "contextLength",
    expected: `an integer from 2 to ${trained}, the model's own`,
    got: String(asked),
  });
}

function isList(inputs: ModelInput | readonly ModelInput[]): inputs is readonly ModelInput[] {
  return Array.isArray(inputs);
}

async function openInput(input: ModelInput, signal: AbortSignal | undefined): Promise<ByteSource> {
  signal?.throwIfAborted();
  if (input instanceof URL) {
    choice("input", input.protocol, ["http:", "https:", "blob:"]);
    return openHttpSource(input, signal ? { signal } : {});
  }
  if (input instanceof Blob) return blobSource(input);
  if (ArrayBuffer.isView(input) || input instanceof ArrayBuffer) return memorySource(input);
  if (typeof SharedArrayBuffer !== "undefined" && input instanceof SharedArrayBuffer) return memorySource(input);
  if (typeof input === "object" && input !== null && "readInto" in input) return input;
  throw new HalfbyteError("ERR_ARGUMENT", "nothing a model can be loaded from", {
    place: "input",
    expected: "a string, URL, Blob, ArrayBuffer, Uint8Array or ByteSource",
    got: input === null ? "null" : typeof input,
  });
}
