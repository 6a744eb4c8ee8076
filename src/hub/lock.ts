import { randomUUID } from "node:crypto";
import { readFile, rm, stat, utimes, writeFile } from "node:fs/promises";
import { hostname } from "node:os";
import { dirname } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { ioError } from "./io-error.ts";
import { makeFolder } from "./make-folder.ts";

const HEARTBEAT_MS = 5_000;
/** Twelve heartbeats: a holder on another machine that is silent this long is taken for dead. */
const STALE_MS = 60_000;
const POLL_MS = 200;

interface Holder {
  readonly pid: number;
  readonly host: string;
  readonly token: string;
}

export interface LockOptions {
  readonly signal?: AbortSignal | undefined;
  /** Called once when another process holds the lock. */
  readonly onWait?: () => void;
}

/**
 * Runs `work` while no other process that uses the same lock file does, and removes the file afterwards. A holder that
 * died is recognised by its process id, or on another machine by the age of its heartbeat.
 * Throws ERR_IO, the signal's reason, or what `work` throws.
 */
export async function withLock<T>(path: string, work: () => Promise<T>, options: LockOptions = {}): Promise<T> {
  const holder: Holder = { pid: process.pid, host: hostname(), token: randomUUID() };
  await acquire(path, holder, options);
  const heartbeat = setInterval(() => {
    const now = new Date();
    utimes(path, now, now).catch(() => {});
  }, HEARTBEAT_MS);
  heartbeat.unref();
  try {
    return await work();
  } finally {
    clearInterval(heartbeat);
    if ((await readHolder(path))?.token === holder.token) await rm(path, { force: true });
  }
}

async function acquire(path: string, holder: Holder, options: LockOptions): Promise<void> {
  let waited = false;
  for (;;) {
    options.signal?.throwIfAborted();
    if (await create(path, holder)) return;
    if (await isStale(path)) {
      await breakLock(path, holder);
      continue;
    }
    if (!waited) options.onWait?.();
    waited = true;
    await sleep(POLL_MS, undefined, { signal: options.signal }).catch(() => {});
  }
}

async function create(path: string, holder: Holder): Promise<boolean> {
  try {
    await makeFolder(dirname(path));
    await writeFile(path, JSON.stringify(holder), { flag: "wx" });
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "EEXIST") return false;
    throw ioError(error, path);
  }
}

/** Only one process may break a lock at a time, else the second would remove the first one's new lock. */
async function breakLock(path: string, holder: Holder): Promise<void> {
  const breaker = `${path}.break`;
  if (await create(breaker, holder)) {
    if (await isStale(path)) await rm(path, { force: true });
    await rm(breaker, { force: true });
    return;
  }
  if (((await ageMs(breaker)) ?? 0) > STALE_MS) await rm(breaker, { force: true });
  await sleep(POLL_MS);
}

async function isStale(path: string): Promise<boolean> {
  const age = await ageMs(path);
  if (age === undefined) return false; // released in the meantime
  if (age > STALE_MS) return true;
  const holder = await readHolder(path);
  // Created but not yet written: the age decides.
  if (!holder || holder.host !== hostname()) return false;
  return !isAlive(holder.pid);
}

async function ageMs(path: string): Promise<number | undefined> {
  try {
    return Date.now() - (await stat(path)).mtimeMs;
  } catch {
    return undefined;
  }
}

async function readHolder(path: string): Promise<Holder | undefined> {
  try {
    const value: unknown = JSON.parse(await readFile(path, "utf8"));
    const { pid, host, token } = value as Holder;
    const valid = Number.isInteger(pid) && pid > 0 && typeof host === "string" && typeof token === "string";
    return valid ? { pid, host, token } : undefined;
  } catch {
    return undefined;
  }
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === "EPERM";
  }
}
