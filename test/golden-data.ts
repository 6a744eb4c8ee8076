import { existsSync } from "node:fs";
import { fileURLToPath } from "node:url";

/** A file of the larger golden data that may stand beside the project, or undefined where it does not. */
export function goldenPath(...parts: string[]): string | undefined {
  const path = fileURLToPath(new URL(`../../shared/${parts.join("/")}`, import.meta.url));
  return existsSync(path) ? path : undefined;
}
