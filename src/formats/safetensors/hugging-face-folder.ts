import { HalfbyteError } from "../../errors.ts";
import type { ByteSource } from "../byte-source.ts";
import {
  isJsonObject,
  type JsonObject,
  MAX_JSON_BYTES,
  readJson,
  readJsonObject,
  readText,
  readWhole,
} from "../json.ts";
import { shown } from "../shown.ts";
import { openSafetensors, type SafetensorsTensor } from "./open-safetensors.ts";

/** Files in use have some ten kilobytes. */
const MAX_CONFIG_BYTES = 4 * 1024 * 1024;
/** The largest models in use have some 200 files. */
const MAX_SHARDS = 1024;
const WEIGHTS = "model.safetensors";
const INDEX = "model.safetensors.index.json";

/** Opens a file of the folder by its plain name; undefined when there is none. */
export type OpenFile = (fileName: string) => Promise<ByteSource | undefined>;

/** A model in the layout of the Hugging Face hub. */
export interface HuggingFaceFolder {
  readonly config: JsonObject;
  readonly generationConfig: JsonObject | undefined;
  readonly tensors: ReadonlyMap<string, SafetensorsTensor>;
  /** Other files, such as tokenizer.json, read now and closed again; undefined when there is none. */
  json(fileName: string): Promise<unknown>;
  text(fileName: string): Promise<string | undefined>;
  bytes(fileName: string): Promise<Uint8Array | undefined>;
  /** Closes the weights' sources. */
  close(): Promise<void>;
}

/**
 * Opens `config.json`, `generation_config.json` where there is one, and the headers of `model.safetensors` or of all
 * files `model.safetensors.index.json` names. Throws ERR_MISSING for a file or tensor that is not there, and what
 * `openSafetensors` and `readJson` throw; all that was opened is closed then. `place` is what errors call the folder.
 */
export async function openHuggingFaceFolder(open: OpenFile, place?: string): Promise<HuggingFaceFolder> {
  const whole = async <T>(fileName: string, read: (source: ByteSource) => Promise<T>): Promise<T | undefined> => {
    const source = await open(fileName);
    try {
      return source && (await read(source));
    } finally {
      await source?.close();
    }
  };
  const config = await whole("config.json", (source) => readJsonObject(source, MAX_CONFIG_BYTES));
  if (!config) throw new HalfbyteError("ERR_MISSING", "the model has no config.json", { ...(place && { place }) });
  const generationConfig = await whole("generation_config.json", (source) => readJsonObject(source, MAX_CONFIG_BYTES));

  const sources: ByteSource[] = [];
  const close = async (): Promise<void> => {
    await Promise.all(sources.map((source) => source.close()));
  };
  const openWeights = async (fileName: string): Promise<ReadonlyMap<string, SafetensorsTensor> | undefined> => {
    const source = await open(fileName);
    if (source) sources.push(source);
    return source && (await openSafetensors(source)).tensors;
  };
  try {
    const tensors =
      (await openWeights(WEIGHTS)) ?? shardedTensors(await whole(INDEX, readJsonObject), openWeights, place);
    return {
      config,
      generationConfig,
      tensors: await tensors,
      json: (fileName) => whole(fileName, readJson),
      text: (fileName) => whole(fileName, readText),
      bytes: (fileName) => whole(fileName, (source) => readWhole(source, MAX_JSON_BYTES)),
      close,
    };
  } catch (error) {
    await close().catch(() => undefined);
    throw error;
  }
}

async function shardedTensors(
  index: JsonObject | undefined,
  openWeights: (fileName: string) => Promise<ReadonlyMap<string, SafetensorsTensor> | undefined>,
  folder: string | undefined,
): Promise<ReadonlyMap<string, SafetensorsTensor>> {
  if (!index)
    throw new HalfbyteError("ERR_MISSING", `the model has neither ${WEIGHTS} nor ${INDEX}`, {
      ...(folder && { place: folder }),
    });
  const { weight_map: weightMap } = index;
  if (!isJsonObject(weightMap)) throw new HalfbyteError("ERR_FORMAT", "no weight_map", { place: INDEX });
  const shards = new Map<string, ReadonlyMap<string, SafetensorsTensor>>();
  const tensors = new Map<string, SafetensorsTensor>();
  for (const [name, fileName] of Object.entries(weightMap)) {
    const place = `${INDEX}, tensor ${shown(name)}`;
    if (typeof fileName !== "string" || !isPlainName(fileName)) {
      throw new HalfbyteError("ERR_FORMAT", "not the name of a file beside the index", {
        place,
        got: typeof fileName === "string" ? shown(fileName) : typeof fileName,
      });
    }
    let shard = shards.get(fileName);
    if (!shard) {
      if (shards.size === MAX_SHARDS) throw new HalfbyteError("ERR_LIMIT", `more than ${MAX_SHARDS} files`, { place });
      shard = await openWeights(fileName);
      if (!shard)
        throw new HalfbyteError("ERR_MISSING", "a file of the model is missing", {
          place: folder ? `${folder}, ${shown(fileName)}` : shown(fileName),
        });
      shards.set(fileName, shard);
    }
    const tensor = shard.get(name);
    if (!tensor)
      throw new HalfbyteError("ERR_MISSING", "the tensor is not in its file", { place, got: shown(fileName) });
    tensors.set(name, tensor);
  }
  return tensors;
}

/** A name without a folder: an index must not reach outside the model's own. */
function isPlainName(fileName: string): boolean {
  return /^[^/\\:\0]+\.safetensors$/.test(fileName) && !fileName.startsWith(".");
}
