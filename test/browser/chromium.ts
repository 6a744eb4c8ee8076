import { existsSync } from "node:fs";

export const CHROMIUM: string | undefined = [process.env.CHROMIUM, "/usr/bin/chromium", "/usr/bin/google-chrome"].find(
  (path) => path && existsSync(path),
);

/** What a fresh Chromium must not do in a test: talk to the network. */
export const QUIET: readonly string[] = [
  "--no-sandbox",
  "--disable-gpu",
  "--disable-background-networking",
  "--disable-component-update",
  "--disable-sync",
  "--no-first-run",
];
