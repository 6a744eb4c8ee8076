import { existsSync } from "node:fs";
import { rm, stat } from "node:fs/promises";
import { join } from "node:path";
import { HalfbyteError } from "../errors.ts";
import { ALIASES } from "./aliases.ts";
import { modelsFolder } from "./cache-folder.ts";
import type { Environment } from "./environment.ts";
import { ioError } from "./io-error.ts";
import { withLock } from "./lock.ts";
import { type Manifest, mainPath, manifestPath, readManifests, totalBytes, unknownModel } from "./manifest.ts";
import { canonicalReference, givenName } from "./model-name.ts";
import { measureFile } from "./partial-file.ts";
import { parseReference, type Reference } from "./reference.ts";

/** A model in the cache. */
export interface CachedModel extends Omit<Manifest, "version" | "main"> {
  /** The file or folder to open. */
  readonly path: string;
  readonly bytes: number;
}

export interface LibraryOptions {
  /** In place of `process.env`. */
  readonly environment?: Environment;
  readonly signal?: AbortSignal;
}

/** The complete models in the cache, by name. Throws ERR_ARGUMENT for a cache folder that is none, ERR_IO. */
export async function listModels(options: LibraryOptions = {}): Promise<CachedModel[]> {
  const models = modelsFolder(options.environment ?? process.env);
  return (await readManifests(models)).map((manifest) => cachedModel(models, manifest));
}

/**
 * The local path of a model, without asking any network: a path that exists, or what the cache has under that alias,
 * name or reference; else undefined. Throws ERR_ARGUMENT for what is no reference, ERR_IO.
 */
export async function resolveModel(reference: string, options: LibraryOptions = {}): Promise<string | undefined> {
  const parsed = parseReference(reference, ALIASES);
  if (parsed?.kind === "path") return existsSync(parsed.path) ? parsed.path : undefined;
  const models = modelsFolder(options.environment ?? process.env);
  const manifest = await findManifest(models, reference, parsed);
  return manifest && mainPath(models, manifest);
}

/** Removes a model, or what an unfinished pull left of it, from the cache. Throws ERR_UNKNOWN_MODEL, ERR_IO. */
export async function removeModel(reference: string, options: LibraryOptions = {}): Promise<{ freedBytes: number }> {
  const models = modelsFolder(options.environment ?? process.env);
  const parsed = parseReference(reference, ALIASES);
  const manifest = await findManifest(models, reference, parsed);
  const name = manifest?.name ?? (parsed && givenName(parsed)) ?? reference;
  const folder = join(models, name);
  // A bare word is the name of a model's folder only without a separator, which could lead out of the cache.
  if (!/^[\w@+-][\w.@+-]*$/.test(name) || !(await isFolder(folder))) throw await unknown(models, reference);
  await withLock(
    `${folder}.lock`,
    async () => {
      try {
        await rm(manifestPath(folder), { force: true }); // first: from now on it is not complete
        await rm(folder, { recursive: true, force: true });
      } catch (error) {
        throw ioError(error, folder);
      }
    },
    { signal: options.signal },
  );
  return { freedBytes: manifest ? totalBytes(manifest.files) : 0 };
}

/**
 * Reads a cached model's files again and compares them with the hashes of the day they came.
 * Throws ERR_HASH naming the first file that differs, ERR_UNKNOWN_MODEL, ERR_IO, the signal's reason.
 */
export async function verifyModel(
  reference: string,
  options: LibraryOptions & { readonly onBytes?: (checkedBytes: number, totalBytes: number) => void } = {},
): Promise<CachedModel> {
  const models = modelsFolder(options.environment ?? process.env);
  const manifest = await findManifest(models, reference, parseReference(reference, ALIASES));
  if (!manifest) throw await unknown(models, reference);
  const total = totalBytes(manifest.files);
  let done = 0;
  for (const file of manifest.files) {
    const path = join(models, manifest.name, file.name);
    const onBlock = (bytes: number): void => options.onBytes?.(done + bytes, total);
    const record = await measureFile(path, onBlock, options.signal);
    if (record?.sha256 !== file.sha256) {
      throw new HalfbyteError("ERR_HASH", "the file is damaged", {
        place: path,
        expected: file.sha256,
        got: record?.sha256 ?? "no file",
        remedy: "remove the model and pull it again",
      });
    }
    done += file.bytes;
  }
  return cachedModel(models, manifest);
}

/** The complete model that goes by that name or reference. */
export async function findManifest(
  models: string,
  text: string,
  parsed: Reference | undefined,
): Promise<Manifest | undefined> {
  const name = parsed && givenName(parsed);
  const canonical = parsed && canonicalReference(parsed);
  const manifests = await readManifests(models);
  return (
    manifests.find((manifest) => manifest.name === (name ?? text)) ??
    manifests.find(({ references }) => canonical !== undefined && references.includes(canonical))
  );
}

export function cachedModel(models: string, manifest: Manifest): CachedModel {
  const { version: _, main: __, ...rest } = manifest;
  return { ...rest, path: mainPath(models, manifest), bytes: totalBytes(manifest.files) };
}

async function isFolder(path: string): Promise<boolean> {
  return stat(path).then(
    (found) => found.isDirectory(),
    () => false,
  );
}

async function unknown(models: string, reference: string): Promise<HalfbyteError> {
  return unknownModel(
    reference,
    (await readManifests(models)).map(({ name }) => name),
  );
}
