import { randomUUID } from "node:crypto";
import { open, readFile, rename, rm, stat } from "node:fs/promises";
import { dirname } from "node:path";
import { HalfbyteError } from "../errors.ts";
import type { Model } from "../model.ts";
import type { Session } from "./session.ts";
import { MAX_SESSION_BYTES } from "./session-format.ts";

/** Writes a session beside `path`, sees that it is on the disk, and puts it in place: at any moment there is a whole one. */
export async function writeSession(path: string, model: Model, session: Session): Promise<void> {
  const bytes = await model.encodeSession(session);
  const beside = `${path}.${randomUUID()}.new`;
  try {
    const file = await open(beside, "wx", 0o600);
    try {
      await file.writeFile(bytes);
      await file.sync();
    } finally {
      await file.close();
    }
    await rename(beside, path);
    await syncFolder(dirname(path));
  } catch (cause) {
    await rm(beside, { force: true });
    throw new HalfbyteError("ERR_IO", "cannot save the session", { place: path, cause });
  }
}

/** Reads what `writeSession` wrote. Throws as `Model.decodeSession`, ERR_MISSING, ERR_IO. */
export async function readSession(path: string, model: Model): Promise<Session> {
  try {
    const { size } = await stat(path);
    if (size > MAX_SESSION_BYTES)
      throw new HalfbyteError("ERR_LIMIT", "too large for a session", { place: path, got: `${size} bytes` });
    return await model.decodeSession(await readFile(path));
  } catch (cause) {
    if (cause instanceof HalfbyteError) throw cause;
    const missing = (cause as NodeJS.ErrnoException).code === "ENOENT";
    throw new HalfbyteError(missing ? "ERR_MISSING" : "ERR_IO", "cannot read the session", { place: path, cause });
  }
}

/** The new name too must be on the disk; Windows has no folders to open. */
async function syncFolder(path: string): Promise<void> {
  if (process.platform === "win32") return;
  const folder = await open(path, "r");
  try {
    await folder.sync();
  } finally {
    await folder.close();
  }
}
