export { ApiError } from "./api-error.ts";
export { type App, type AppOptions, createApp } from "./app.ts";
export type { GuardOptions } from "./guard.ts";
export { type Listening, type ListenOptions, listen } from "./listen.ts";
export { jsonLog, type Log, textLog } from "./log.ts";
export { type Lease, ModelPool, type ModelPoolOptions, type ModelStatus, type ServedModel } from "./model-pool.ts";
export { type PageFile, type PageFiles, readPageFiles } from "./page-files.ts";
export type { Limits } from "./route.ts";
