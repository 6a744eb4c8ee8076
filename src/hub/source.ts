import type { Environment } from "./environment.ts";
import type { FileRecord } from "./partial-file.ts";
import type { PullProgress } from "./progress.ts";

/** One way to get a model. */
export interface Source {
  /** For people: `hf:owner/repo@revision/file`, `pypi:name==version`, an address. */
  readonly label: string;
  /** Puts the model's checked files into the job's folder. Throws typed errors or the signal's reason. */
  fetch(job: PullJob): Promise<FetchedModel>;
}

/** What a source needs to know of the pull that it serves. */
export interface PullJob {
  /** The model's own folder in the cache, held by a lock. */
  readonly folder: string;
  readonly environment: Environment;
  readonly signal: AbortSignal | undefined;
  report(phase: PullProgress["phase"], receivedBytes: number, totalBytes: number | undefined): void;
}

export interface FetchedModel {
  readonly format: "gguf" | "safetensors";
  /** The file to open, or "." for the folder. */
  readonly main: string;
  readonly files: readonly FileRecord[];
  readonly source: string;
  readonly revision?: string | undefined;
  readonly licence?: string | undefined;
}
