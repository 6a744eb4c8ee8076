import { readdir, stat } from "node:fs/promises";
import { join } from "node:path";
import { HalfbyteError } from "../errors.ts";
import { loadModel } from "../index.ts";
import { ApiError } from "../server/api-error.ts";
import { originOf } from "../server/guard.ts";
import {
  createApp,
  jsonLog,
  type Listening,
  type Log,
  listen,
  ModelPool,
  readPageFiles,
  type ServedModel,
  textLog,
} from "../server/index.ts";
import { errorFields } from "../server/log.ts";
import { EXIT } from "./exit-codes.ts";
import { pullWithProgress, readTemplate } from "./load.ts";
import { packageVersion } from "./package-version.ts";
import { loadOptions } from "./run-options.ts";
import type { ServeOptions } from "./serve-command.ts";

const KiB = 1024;
const MiB = 1024 * KiB;

/** Serves models until the interrupt, and then until the answers under way have ended. */
export async function serve(
  references: readonly string[],
  options: ServeOptions,
  interrupt: AbortSignal,
): Promise<void> {
  const apiKeys = apiKeysOf(options);
  checkAddress(options, apiKeys);
  const corsOrigins = (options.cors ?? []).map(originOf);
  const log = logOf(options.log);
  const models = await servedModels(references, options, interrupt);
  const pool = new ModelPool(models, options.modelMemory ? { memoryBytes: options.modelMemory * MiB } : {});
  const stop = new AbortController();
  const app = createApp(pool, {
    apiKeys,
    ...(options.withoutKey && { allowedHosts: "any" as const }),
    ...(options.allowedHost && { allowedHosts: [...LOOPBACK, ...options.allowedHost] }),
    corsOrigins,
    timeoutMs: options.timeout * 1000,
    maxBodyBytes: options.maxBody * KiB,
    log,
    stop: stop.signal,
    isDraining: () => interrupt.aborted,
    version: packageVersion(),
    page: await readPageFiles(),
  });
  const { host, port, maxConnections } = options;
  const server = await listen(app, { host, port, maxConnections });
  try {
    // The first shall not wait, and what is wrong with a model shall show now. With bounded memory the rest load when asked for.
    for (const { name } of options.modelMemory ? models.slice(0, 1) : models) await load(pool, name, interrupt, log);
    if (!interrupt.aborted) announce(server.url, models[0]!.name, apiKeys.length > 0, log);
    await aborted(interrupt);
    await drain(server, stop, options.drain, log);
  } finally {
    server.closeNow();
    await pool.dispose();
  }
  // To be stopped is how a server ends, and no failure.
  if (interrupt.aborted) process.exit(EXIT.ok);
}

const LOOPBACK = ["localhost", "127.0.0.1", "[::1]"];

function checkAddress({ host, withoutKey }: ServeOptions, apiKeys: readonly string[]): void {
  if (apiKeys.length > 0 || withoutKey || host === "localhost" || host === "::1" || /^127(\.\d+){3}$/.test(host))
    return;
  throw new HalfbyteError("ERR_ARGUMENT", "others than this machine could call the server", {
    place: `--host ${host}`,
    remedy: "set --api-key or HALFBYTE_API_KEY, or say --without-key if anyone may call",
  });
}

/** Keys of the command line, and those in the environment, which other users' process lists do not show. */
function apiKeysOf({ apiKey = [] }: ServeOptions): string[] {
  const { HALFBYTE_API_KEY: fromEnvironment = "" } = process.env;
  const isEmpty = (text: string): boolean => /^[\s,]*$/.test(text);
  const place = apiKey.some(isEmpty) ? "--api-key" : fromEnvironment && isEmpty(fromEnvironment) && "HALFBYTE_API_KEY";
  if (place) throw new HalfbyteError("ERR_ARGUMENT", "there is no key in it", { place });
  const keys = [...apiKey, ...fromEnvironment.split(",")].map((key) => key.trim()).filter(Boolean);
  const bad = keys.find((key) => !/^[\x21-\x7e]+$/.test(key));
  if (bad !== undefined)
    throw new HalfbyteError("ERR_ARGUMENT", "an API key has characters that no header can carry", {
      place: "--api-key",
    });
  return keys;
}

function logOf(format: ServeOptions["log"] = process.stderr.isTTY ? "text" : "json"): Log {
  const write = (line: string): void => void process.stderr.write(line);
  if (format === "off") return () => {};
  return format === "json" ? jsonLog(write) : textLog(write);
}

async function servedModels(
  references: readonly string[],
  options: ServeOptions,
  interrupt: AbortSignal,
): Promise<ServedModel[]> {
  const chatTemplate = options.chatTemplate === undefined ? undefined : await readTemplate(options.chatTemplate);
  const { maxSequences, maxWaiting, cacheTokens, cacheMemory } = options;
  const settings = {
    ...loadOptions(options),
    ...(chatTemplate !== undefined && { chatTemplate }),
    ...(maxSequences && { maxSequences }),
    ...(maxWaiting && { maxWaiting }),
    ...(cacheTokens && { cacheTokens }),
    ...(cacheMemory && { cacheBytes: cacheMemory * MiB }),
  };
  const models: ServedModel[] = [];
  for (const each of references) {
    const [, given, reference] = /^([\w.-]+)=(.+)$/s.exec(each) ?? [undefined, undefined, each];
    const pulled = await pullWithProgress(reference!, options, interrupt);
    const { path } = pulled;
    const name = given ?? pulled.name;
    models.push({
      name,
      expectedBytes: await bytesOf(path),
      load: (signal) => loadModel(path, { ...settings, name, signal }),
    });
  }
  return models;
}

/** Weights in memory are about as large as in the file. */
async function bytesOf(path: string): Promise<number> {
  const status = await stat(path);
  if (!status.isDirectory()) return status.size;
  const files = (await readdir(path)).filter((name) => name.endsWith(".safetensors"));
  const sizes = await Promise.all(files.map(async (name) => (await stat(join(path, name))).size));
  return sizes.reduce((sum, size) => sum + size, 0);
}

async function load(pool: ModelPool, name: string, interrupt: AbortSignal, log: Log): Promise<void> {
  const start = performance.now();
  await pool.load(name, interrupt).catch((error: unknown) => {
    // Clients must not see the cause; whoever starts the server must.
    const cause = error instanceof ApiError && error.cause instanceof Error ? error.cause : error;
    if (!interrupt.aborted) log("error", "model not loaded", { model: name, ...errorFields(cause) });
    throw cause;
  });
  const model = pool.list().find((each) => each.name === name)?.model;
  if (!model) return;
  const { executor, contextLength } = model.info;
  const ms = Math.round(performance.now() - start);
  log("info", "model loaded", { model: name, ms, executor: executor.name, kernel: executor.kernel, contextLength });
}

function announce(url: string, model: string, needsKey: boolean, log: Log): void {
  log("info", `listening on ${url}`, { url });
  const key = needsKey ? ` -H 'Authorization: Bearer KEY'` : "";
  const body = JSON.stringify({ model, messages: [{ role: "user", content: "Hello!" }] });
  process.stdout.write(`Halfbyte listens on ${url}; ${url}/docs has its API. Try:
  curl ${url}/v1/chat/completions${key} -H 'Content-Type: application/json' -d '${body}'
`);
}

async function drain(server: Listening, stop: AbortController, seconds: number, log: Log): Promise<void> {
  log("info", "stopping: no new requests, answers under way may end", { seconds });
  const timer = setTimeout(() => {
    log("warn", "the time is over: answers under way are ended");
    stop.abort();
    setTimeout(() => server.closeNow(), LAST_WORDS_MS).unref();
  }, seconds * 1000);
  await server.close();
  clearTimeout(timer);
  log("info", "stopped");
}

/** For the last events of streams that were ended. */
const LAST_WORDS_MS = 2000;

function aborted(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) resolve();
    signal.addEventListener("abort", () => resolve(), { once: true });
  });
}
