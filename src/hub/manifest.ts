import { open, readdir, readFile, rename, stat } from "node:fs/promises";
import { join } from "node:path";
import { HalfbyteError } from "../errors.ts";
import { ioError } from "./io-error.ts";
import type { FileRecord } from "./partial-file.ts";
import { isPlainPath } from "./reference.ts";

/** Written last: a folder of the cache without it is a model that is not complete. */
const MANIFEST = "halfbyte.json";
/** A manifest has some hundred bytes a file; this is room for thousands of shards. */
const MAX_MANIFEST_BYTES = 4 * 1024 * 1024;

/** What is known of a model in the cache. */
export interface Manifest {
  readonly version: 1;
  readonly name: string;
  /** Every reference that led to this model. */
  readonly references: readonly string[];
  /** Where the bytes came from. */
  readonly source: string;
  /** The commit, for a model of the hub. */
  readonly revision?: string;
  /** As the source states it. */
  readonly licence?: string;
  /** ISO 8601. */
  readonly pulledAt: string;
  readonly format: "gguf" | "safetensors";
  /** The file to open, or "." for the folder. */
  readonly main: string;
  readonly files: readonly FileRecord[];
}

/** Writes a model's manifest so that a reader sees the old one, the new one or none, never a part. Throws ERR_IO. */
export async function writeManifest(folder: string, manifest: Manifest): Promise<void> {
  const path = join(folder, MANIFEST);
  try {
    const handle = await open(`${path}.new`, "w");
    try {
      await handle.writeFile(`${JSON.stringify(manifest, undefined, 2)}\n`);
      await handle.sync();
    } finally {
      await handle.close();
    }
    await rename(`${path}.new`, path);
  } catch (error) {
    throw ioError(error, path);
  }
}

export function manifestPath(folder: string): string {
  return join(folder, MANIFEST);
}

/** The manifest of a model's folder; undefined where there is none, it is damaged, or a file lacks or has another size. */
export async function readManifest(folder: string): Promise<Manifest | undefined> {
  try {
    const path = join(folder, MANIFEST);
    if ((await stat(path)).size > MAX_MANIFEST_BYTES) return undefined;
    const value: unknown = JSON.parse(await readFile(path, "utf8"));
    if (!isManifest(value)) return undefined;
    for (const file of value.files) {
      if ((await stat(join(folder, file.name))).size !== file.bytes) return undefined;
    }
    return value;
  } catch {
    return undefined;
  }
}

/** The complete models of a folder, by name. Throws ERR_IO when it is there and cannot be read. */
export async function readManifests(models: string): Promise<Manifest[]> {
  let names: string[];
  try {
    names = await readdir(models);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return [];
    throw ioError(error, models);
  }
  const found: Manifest[] = [];
  for (const name of names.sort()) {
    const manifest = await readManifest(join(models, name));
    if (manifest?.name === name) found.push(manifest);
  }
  return found;
}

/** The path that opens a model. */
export function mainPath(models: string, manifest: Manifest): string {
  const folder = join(models, manifest.name);
  return manifest.main === "." ? folder : join(folder, manifest.main);
}

export function totalBytes(files: readonly FileRecord[]): number {
  return files.reduce((sum, file) => sum + file.bytes, 0);
}

export function unknownModel(reference: string, known: readonly string[]): HalfbyteError {
  return new HalfbyteError("ERR_UNKNOWN_MODEL", "no model goes by that name", {
    place: JSON.stringify(reference.slice(0, 200)),
    ...(known.length > 0 && { expected: `one of ${known.join(", ")}` }),
    remedy: "give an alias, a name from the list of cached models, owner/repo of the hub, a URL or a path",
  });
}

function isManifest(value: unknown): value is Manifest {
  if (typeof value !== "object" || value === null) return false;
  const { version, name, references, source, revision, licence, pulledAt, format, main, files } = value as Manifest;
  return (
    version === 1 &&
    isName(name) &&
    Array.isArray(references) &&
    references.every((reference) => typeof reference === "string") &&
    typeof source === "string" &&
    (revision === undefined || typeof revision === "string") &&
    (licence === undefined || typeof licence === "string") &&
    typeof pulledAt === "string" &&
    (format === "gguf" || format === "safetensors") &&
    Array.isArray(files) &&
    files.length > 0 &&
    files.every(isFileRecord) &&
    (main === "." || files.some((file) => file.name === main))
  );
}

function isFileRecord(value: unknown): value is FileRecord {
  if (typeof value !== "object" || value === null) return false;
  const { name, bytes, sha256 } = value as FileRecord;
  return isName(name) && Number.isSafeInteger(bytes) && bytes >= 0 && /^[0-9a-f]{64}$/.test(sha256);
}

function isName(name: unknown): name is string {
  return typeof name === "string" && !name.includes("/") && isPlainPath(name);
}
