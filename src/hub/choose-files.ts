import { posix } from "node:path";
import { HalfbyteError } from "../errors.ts";

/** A file that a source offers. */
export interface OfferedFile {
  /** With slashes, relative to the source's root. */
  readonly path: string;
  readonly bytes: number | undefined;
}

/** The files of one model, out of all that a source offers. */
export interface ModelChoice<F extends OfferedFile> {
  readonly format: "gguf" | "safetensors";
  /** Names the choice in a model's name: a file's stem, or nothing for the repository's one folder model. */
  readonly label: string;
  /** The file to open, or "." for a folder. */
  readonly main: string;
  readonly files: readonly F[];
  /** Says which of several weight files belong to the model; to be read before the rest. */
  readonly index: F | undefined;
}

/** What a tokenizer, a chat template or a generation needs beside the weights. config.json is required. */
const COMPANIONS = new Set([
  "config.json",
  "generation_config.json",
  "tokenizer.json",
  "tokenizer_config.json",
  "tokenizer.model",
  "special_tokens_map.json",
  "added_tokens.json",
  "vocab.json",
  "merges.txt",
  "chat_template.jinja",
  "chat_template.json",
]);
const SHARD = /-(\d{5})-of-(\d{5})(?=\.[a-z]+$)/i;
/** More would make an error message nobody reads. */
const MAX_LISTED = 40;

/**
 * Picks the files of one model. `wanted` is a quantisation (`Q4_K_M`), a file's path, `safetensors`, or undefined where
 * the source offers only one model. Throws ERR_MISSING, or ERR_ARGUMENT with the list of choices when there are several.
 */
export function chooseFiles<F extends OfferedFile>(
  offered: readonly F[],
  wanted: string | undefined,
  place: string,
): ModelChoice<F> {
  const ggufs = ggufModels(offered);
  const folders = folderModels(offered);
  const all = [...ggufs, ...folders];
  const fitting = wanted === undefined ? all : all.filter((choice) => fits(choice, wanted));
  if (fitting.length === 1) return checkedShards(fitting[0]!, place);
  const choices = (fitting.length > 0 ? fitting : all).map(describe);
  const listed = choices.slice(0, MAX_LISTED).join(", ") + (choices.length > MAX_LISTED ? ", …" : "");
  if (fitting.length > 1) {
    throw new HalfbyteError("ERR_ARGUMENT", "offers several models", {
      place,
      expected: `one of ${listed}`,
      remedy: "append :QUANTISATION or :FILE to the reference",
    });
  }
  throw new HalfbyteError("ERR_MISSING", wanted === undefined ? "offers no model" : `offers no model ${wanted}`, {
    place,
    expected: all.length > 0 ? `one of ${listed}` : "a .gguf file, or config.json with .safetensors files",
  });
}

/** The weight files that an index names. Throws ERR_FORMAT for an index that is none or names what is not offered. */
export function indexedFiles<F extends OfferedFile>(choice: ModelChoice<F>, index: unknown, place: string): F[] {
  const map = (index as { weight_map?: unknown } | null)?.weight_map;
  if (typeof map !== "object" || map === null) {
    throw new HalfbyteError("ERR_FORMAT", "the index of the weights has no weight_map", { place });
  }
  const names = new Set(Object.values(map as Record<string, unknown>));
  const others = choice.files.filter((file) => !file.path.endsWith(".safetensors"));
  const weights = [...names].map((name) => {
    const file = choice.files.find(({ path }) => posix.basename(path) === name && path.endsWith(".safetensors"));
    if (file) return file;
    throw new HalfbyteError("ERR_FORMAT", "the index of the weights names a file that is not there", {
      place,
      got: JSON.stringify(name).slice(0, 200),
    });
  });
  return [...others, ...weights];
}

function ggufModels<F extends OfferedFile>(offered: readonly F[]): ModelChoice<F>[] {
  const groups = new Map<string, F[]>();
  for (const file of offered) {
    // A projector for images is no language model.
    if (!/\.gguf$/i.test(file.path) || /(^|[/._-])mmproj/i.test(file.path)) continue;
    const label = file.path.replace(SHARD, "").replace(/\.gguf$/i, "");
    groups.set(label, [...(groups.get(label) ?? []), file]);
  }
  return [...groups].map(([label, files]) => {
    const sorted = [...files].sort((a, b) => (a.path < b.path ? -1 : 1));
    return { format: "gguf", label, main: posix.basename(sorted[0]!.path), files: sorted, index: undefined };
  });
}

function folderModels<F extends OfferedFile>(offered: readonly F[]): ModelChoice<F>[] {
  const configs = offered.filter((file) => posix.basename(file.path) === "config.json");
  return configs.flatMap((config): ModelChoice<F>[] => {
    const folder = posix.dirname(config.path);
    const inside = offered.filter((file) => posix.dirname(file.path) === folder);
    const named = (name: string): F | undefined => inside.find((file) => posix.basename(file.path) === name);
    const all = inside.filter((file) => file.path.endsWith(".safetensors"));
    const index = named("model.safetensors.index.json");
    const single = named("model.safetensors");
    const weights = index ? all : single ? [single] : all;
    if (weights.length === 0 || (!index && weights.length > 1)) return [];
    const companions = inside.filter((file) => COMPANIONS.has(posix.basename(file.path)));
    const files = [...companions, ...(index ? [index] : []), ...weights];
    return [{ format: "safetensors", label: folder === "." ? "" : folder, main: ".", files, index }];
  });
}

function fits<F extends OfferedFile>(choice: ModelChoice<F>, wanted: string): boolean {
  const word = wanted.toLowerCase();
  if (choice.files.some((file) => file.path === wanted)) return true;
  if (choice.format === "safetensors") return word === "safetensors" || choice.label.toLowerCase() === word;
  const label = choice.label.toLowerCase();
  if (label === word || `${label}.gguf` === word) return true;
  // A quantisation is a whole word of the name: Q4_K is not in Q4_K_M, which has another letter or `_` after it.
  const escaped = word.replace(/[^a-z0-9]/g, "\\$&");
  return /^[a-z0-9_-]+$/.test(word) && new RegExp(`(^|[^a-z0-9_])${escaped}($|[^a-z0-9_])`).test(label);
}

function checkedShards<F extends OfferedFile>(choice: ModelChoice<F>, place: string): ModelChoice<F> {
  if (choice.format !== "gguf") return choice;
  const shard = SHARD.exec(choice.main);
  const count = shard ? Number(shard[2]) : 1;
  if (choice.files.length === count) return choice;
  const missing = choice.files.length < count;
  throw new HalfbyteError(missing ? "ERR_MISSING" : "ERR_ARGUMENT", missing ? "a part is missing" : "is ambiguous", {
    place: `${place}: ${choice.label}`,
    expected: `${count} files`,
    got: `${choice.files.length}`,
  });
}

function describe<F extends OfferedFile>(choice: ModelChoice<F>): string {
  const name = choice.format === "gguf" ? `${choice.label}.gguf` : choice.label || "safetensors";
  const bytes = choice.files.reduce((sum, file) => sum + (file.bytes ?? 0), 0);
  return bytes > 0 ? `${name} (${(bytes / 1e6).toFixed(0)} MB)` : name;
}
