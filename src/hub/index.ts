export { cacheFolder } from "./cache-folder.ts";
export type { Environment } from "./environment.ts";
export {
  type CachedModel,
  type LibraryOptions,
  listModels,
  removeModel,
  resolveModel,
  verifyModel,
} from "./library.ts";
export type { FileRecord } from "./partial-file.ts";
export type { PullProgress, ReportProgress } from "./progress.ts";
export { type PulledModel, type PullOptions, pull, type SourceFailure } from "./pull.ts";
