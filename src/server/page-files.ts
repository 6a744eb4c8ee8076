import { readdir, readFile } from "node:fs/promises";
import { extname, join } from "node:path";
import { fileURLToPath } from "node:url";

export interface PageFile {
  readonly body: Uint8Array<ArrayBuffer>;
  readonly headers: Readonly<Record<string, string>>;
}

/** Files of a page by the path they are asked for with. */
export type PageFiles = ReadonlyMap<string, PageFile>;

const TYPES: Readonly<Record<string, string>> = {
  ".html": "text/html; charset=utf-8",
  ".js": "text/javascript; charset=utf-8",
  ".css": "text/css; charset=utf-8",
  ".md": "text/plain; charset=utf-8",
};

/** Nothing from elsewhere, and nothing that a model writes can run. */
const POLICY =
  "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src data:; " +
  "base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

/** The chat page as the build laid it beside this file; none where it was not built. */
export async function readPageFiles(): Promise<PageFiles> {
  const folder = fileURLToPath(new URL("./page", import.meta.url));
  const files = new Map<string, PageFile>();
  const entries = await readdir(folder, { recursive: true, withFileTypes: true }).catch(() => []);
  for (const entry of entries) {
    if (!entry.isFile()) continue;
    const path = join(entry.parentPath, entry.name);
    const name = path.slice(folder.length).replaceAll("\\", "/");
    const isPage = name === "/index.html";
    files.set(isPage ? "/" : name, {
      body: new Uint8Array(await readFile(path)),
      headers: {
        "content-type": TYPES[extname(name)] ?? "application/octet-stream",
        // Names of assets have a hash of what is in them.
        "cache-control": name.startsWith("/assets/") ? "public, max-age=31536000, immutable" : "no-cache",
        ...(isPage && { "content-security-policy": POLICY, "referrer-policy": "no-referrer" }),
      },
    });
  }
  return files;
}
