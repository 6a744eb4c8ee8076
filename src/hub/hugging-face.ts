import { HalfbyteError } from "../errors.ts";
import type { OfferedFile } from "./choose-files.ts";
import { httpGet, readJson, statusError } from "./http.ts";
import type { FileExpectation } from "./partial-file.ts";
import { isPlainPath } from "./reference.ts";

/** A listing of the largest repositories is a few megabytes. */
const MAX_LISTING_BYTES = 32 * 1024 * 1024;
const MAX_FILES = 100_000;

/** How to reach a hub; the token is sent to the endpoint's origin only. */
export interface Hub {
  readonly endpoint: URL;
  readonly token: string | undefined;
}

export interface HubFile extends OfferedFile, FileExpectation {
  readonly bytes: number | undefined;
}

export interface RepositoryListing {
  /** The commit that the revision stands for now, so that all files come from the same one. */
  readonly commit: string;
  readonly licence: string | undefined;
  readonly files: readonly HubFile[];
}

/**
 * Asks the hub what a repository holds: paths, sizes, and SHA-256 (large files) or git ids (small ones).
 * One request, `GET /api/models/{repository}/revision/{revision}?blobs=true`. Throws ERR_NETWORK, ERR_LIMIT.
 */
export async function listRepository(
  hub: Hub,
  repository: string,
  revision: string,
  signal?: AbortSignal,
): Promise<RepositoryListing> {
  const url = new URL(`api/models/${repository}/revision/${encodeURIComponent(revision)}?blobs=true`, hub.endpoint);
  const response = await httpGet({ url, authorization: hubAuthorization(hub), signal });
  if (response.status !== 200) throw statusError(response);
  const answer = (await readJson(response, MAX_LISTING_BYTES, signal)) as ModelInfo | null;
  const commit = answer?.sha;
  const siblings = answer?.siblings;
  if (answer === null || typeof commit !== "string" || !/^[0-9a-f]{40}$/.test(commit) || !Array.isArray(siblings)) {
    throw new HalfbyteError("ERR_NETWORK", "the answer is not that of a hub", { place: url.origin + url.pathname });
  }
  if (siblings.length > MAX_FILES) {
    throw new HalfbyteError("ERR_LIMIT", `the repository has ${siblings.length} files`, { place: repository });
  }
  return { commit, licence: licenceOf(answer), files: siblings.flatMap(hubFile) };
}

export function hubFileUrl(hub: Hub, repository: string, revision: string, path: string): URL {
  const encodedPath = path.split("/").map(encodeURIComponent).join("/");
  return new URL(`${repository}/resolve/${encodeURIComponent(revision)}/${encodedPath}`, hub.endpoint);
}

export function hubAuthorization(hub: Hub): string | undefined {
  return hub.token === undefined ? undefined : `Bearer ${hub.token}`;
}

/** The parts of the hub's answer that are used; nothing in it is trusted to be there. */
interface ModelInfo {
  readonly sha?: unknown;
  readonly siblings?: unknown;
  readonly cardData?: { readonly license?: unknown; readonly license_name?: unknown } | null;
  readonly tags?: unknown;
}

interface Sibling {
  readonly rfilename?: unknown;
  readonly size?: unknown;
  readonly blobId?: unknown;
  readonly lfs?: { readonly sha256?: unknown; readonly oid?: unknown; readonly size?: unknown } | null;
}

function hubFile(value: unknown): HubFile[] {
  if (typeof value !== "object" || value === null) return [];
  const { rfilename: path, size, blobId, lfs } = value as Sibling;
  // A file whose name could not be kept safely is not offered.
  if (typeof path !== "string" || !isPlainPath(path)) return [];
  const bytes = [lfs?.size, size].find((n): n is number => Number.isSafeInteger(n) && (n as number) >= 0);
  const sha256 = [lfs?.sha256, lfs?.oid].find((h): h is string => typeof h === "string" && /^[0-9a-f]{64}$/.test(h));
  const gitBlob = !lfs && typeof blobId === "string" && /^[0-9a-f]{40}$/.test(blobId) ? blobId : undefined;
  return [{ path, bytes, sha256, gitBlob }];
}

function licenceOf(info: ModelInfo): string | undefined {
  const { license, license_name } = info.cardData ?? {};
  const tags = Array.isArray(info.tags) ? info.tags : [];
  const tag = tags.find((text): text is string => typeof text === "string" && text.startsWith("license:"));
  const found = [license === "other" ? license_name : license, license, tag?.slice("license:".length)];
  return found.find((text): text is string => typeof text === "string" && /^[\x20-\x7e]{1,100}$/.test(text));
}
