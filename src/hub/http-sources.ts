import { readFile, stat } from "node:fs/promises";
import { join, posix } from "node:path";
import { HalfbyteError } from "../errors.ts";
import type { Alias } from "./aliases.ts";
import { indexedFiles, type ModelChoice } from "./choose-files.ts";
import { download } from "./download.ts";
import { type Environment, hubEndpoint, hubToken, isHubOffline } from "./environment.ts";
import { type Hub, type HubFile, hubAuthorization, hubFileUrl, type RepositoryListing } from "./hugging-face.ts";
import { type FileExpectation, type FileRecord, measureFile } from "./partial-file.ts";
import { displayUrl, urlFileName } from "./reference.ts";
import type { PullJob, Source } from "./source.ts";

/** The index of a model with thousands of tensors has some hundred kilobytes. */
const MAX_INDEX_BYTES = 64 * 1024 * 1024;

/** Throws ERR_NETWORK when HF_HUB_OFFLINE forbids the hub, ERR_ARGUMENT for an endpoint or token that is none. */
export async function openHub(environment: Environment): Promise<Hub> {
  if (isHubOffline(environment)) {
    throw new HalfbyteError("ERR_NETWORK", "the hub is not asked, since HF_HUB_OFFLINE is set", {
      remedy: "unset it to use the hub",
    });
  }
  const endpoint = hubEndpoint(environment);
  return { endpoint, token: await hubToken(environment, endpoint) };
}

/** A model of a repository whose files are known from a listing; all come from the listing's commit. */
export function repositorySource(
  hub: Hub,
  repository: string,
  listing: RepositoryListing,
  choice: ModelChoice<HubFile>,
): Source {
  const label = `hf:${repository}@${listing.commit.slice(0, 12)}${choice.label && `/${choice.label}`}`;
  const { commit: revision, licence } = listing;
  return {
    label,
    async fetch(job) {
      const authorization = hubAuthorization(hub);
      const item = (file: HubFile): Item => ({
        url: hubFileUrl(hub, repository, revision, file.path),
        name: posix.basename(file.path),
        expectation: file,
        authorization,
      });
      let wanted = choice.files;
      if (choice.index) {
        await fetchAll([item(choice.index)], job);
        wanted = indexedFiles(choice, await readIndex(join(job.folder, posix.basename(choice.index.path))), label);
      }
      const files = await fetchAll(wanted.map(item), job);
      return { format: choice.format, main: choice.main, files, source: label, revision, licence };
    },
  };
}

/** The one file of an alias, straight from the hub: no listing is needed where size and hash are known. */
export function aliasHubSource(alias: Alias): Source {
  const { repository, revision } = alias.hub;
  const label = `hf:${repository}@${revision.slice(0, 12)}/${alias.file}`;
  return {
    label,
    async fetch(job) {
      const hub = await openHub(job.environment);
      const url = hubFileUrl(hub, repository, revision, alias.file);
      const files = await fetchAll(
        [{ url, name: alias.file, expectation: alias, authorization: hubAuthorization(hub) }],
        job,
      );
      return { format: "gguf", main: alias.file, files, source: label, revision, licence: alias.licence };
    },
  };
}

export function urlSource(url: URL): Source {
  const label = displayUrl(url);
  return {
    label,
    async fetch(job) {
      const name = urlFileName(url);
      const files = await fetchAll([{ url, name, expectation: {}, authorization: undefined }], job);
      return { format: /\.gguf$/i.test(name) ? "gguf" : "safetensors", main: name, files, source: label };
    },
  };
}

interface Item {
  readonly url: URL;
  readonly name: string;
  readonly expectation: FileExpectation;
  readonly authorization: string | undefined;
}

async function fetchAll(items: readonly Item[], job: PullJob): Promise<FileRecord[]> {
  const known = items.every(({ expectation }) => expectation.bytes !== undefined);
  const total = known ? items.reduce((sum, { expectation }) => sum + expectation.bytes!, 0) : undefined;
  const records: FileRecord[] = [];
  let done = 0;
  for (const { url, name, expectation, authorization } of items) {
    const target = join(job.folder, name);
    const record =
      (await alreadyThere(target, expectation, job)) ??
      (await download({
        url,
        target,
        expectation,
        authorization,
        signal: job.signal,
        onBytes: (received, fileTotal) => {
          job.report("downloading", done + received, total ?? (items.length === 1 ? fileTotal : undefined));
        },
      }));
    done += record.bytes;
    records.push(record);
  }
  return records;
}

/** A file that an earlier pull of several had finished. */
async function alreadyThere(
  target: string,
  expectation: FileExpectation,
  job: PullJob,
): Promise<FileRecord | undefined> {
  if (expectation.sha256 === undefined) return undefined;
  const size = await stat(target).then(
    (found) => found.size,
    () => undefined,
  );
  if (size === undefined || (expectation.bytes !== undefined && size !== expectation.bytes)) return undefined;
  const record = await measureFile(target, (bytes) => job.report("checking", bytes, size), job.signal);
  return record?.sha256 === expectation.sha256 ? record : undefined;
}

async function readIndex(path: string): Promise<unknown> {
  if ((await stat(path)).size > MAX_INDEX_BYTES) {
    throw new HalfbyteError("ERR_LIMIT", `the index has more than ${MAX_INDEX_BYTES} bytes`, { place: path });
  }
  try {
    return JSON.parse(await readFile(path, "utf8"));
  } catch (cause) {
    throw new HalfbyteError("ERR_FORMAT", "the index of the weights is not JSON", { place: path, cause });
  }
}
