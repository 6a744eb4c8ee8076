import { createHash } from "node:crypto";
import { aliasOfPypiPackage } from "./aliases.ts";
import { displayUrl, formatReference, type HubReference, type Reference, urlFileName } from "./reference.ts";

/** Room for a lock's ending on every file system. */
const MAX_NAME_LENGTH = 180;

/** The cache's name for a model, where the reference alone gives it; for one of the hub its file must be known first. */
export function givenName(reference: Reference): string | undefined {
  switch (reference.kind) {
    case "alias":
      return reference.alias;
    case "pypi":
    case "npm": {
      const alias = packageAlias(reference);
      if (alias !== undefined) return alias;
      const { kind, name, version, choice } = reference;
      return folderName([kind, name, version, choice]);
    }
    case "url":
      return `${urlFileName(reference.url)}--${digest(reference.url.href)}`;
    case "hub":
    case "path":
      return undefined;
  }
}

/** The cache's name for a model of the hub: owner, repository, revision unless it is `main`, and the chosen file. */
export function hubModelName({ repository, revision }: HubReference, label: string): string {
  const at = revision === undefined || revision === "main" ? "" : `@${revision}`;
  return folderName([repository + at, label || undefined]);
}

/** One way of writing for all that mean the same. */
export function canonicalReference(reference: Reference): string {
  switch (reference.kind) {
    case "alias":
      return reference.alias;
    case "hub":
    case "pypi":
    case "npm":
      return formatReference(reference);
    case "url":
      return displayUrl(reference.url);
    case "path":
      return reference.path;
  }
}

/** The alias that a package reference stands for. */
export function packageAlias(reference: Reference): string | undefined {
  if (reference.kind !== "pypi" || reference.choice !== undefined) return undefined;
  return aliasOfPypiPackage(reference.name, reference.version);
}

function folderName(parts: readonly (string | undefined)[]): string {
  const exact = parts.filter((part) => part !== undefined).join("--");
  const name = exact.replaceAll("/", "--").replace(/[^\w.@+-]/g, "_");
  // A name that had to lose something could be another model's too.
  if (name.replaceAll("--", "/") === exact.replaceAll("--", "/") && name.length <= MAX_NAME_LENGTH) return name;
  return `${name.slice(0, MAX_NAME_LENGTH - 10)}--${digest(exact)}`;
}

function digest(text: string): string {
  return createHash("sha256").update(text).digest("hex").slice(0, 8);
}
