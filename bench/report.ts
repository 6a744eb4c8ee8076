import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

export interface Summary {
  readonly median: number;
  readonly min: number;
  readonly max: number;
}

/** Throws where there are no values. */
export function summarize(values: readonly number[]): Summary {
  if (values.length === 0) throw new Error("no values to summarize");
  const sorted = [...values].sort((a, b) => a - b);
  const middle = sorted.length / 2;
  const median = (sorted[Math.ceil(middle) - 1]! + sorted[Math.floor(middle)]!) / 2;
  return { median, min: sorted[0]!, max: sorted.at(-1)! };
}

/** Ratios of what was measured one right after the other. */
export function pairRatios(ours: readonly number[], theirs: readonly number[]): Summary {
  return summarize(ours.map((value, round) => value / theirs[round]!));
}

/** "12.3 (11.0–14.1)". */
export function shown({ median, min, max }: Summary, digits = 1): string {
  const [m, least, most] = [median, min, max].map((value) => value.toFixed(digits));
  return least === most ? m! : `${m} (${least}–${most})`;
}

/** A Markdown table whose columns also line up in a terminal. */
export function table(header: readonly string[], rows: readonly (readonly string[])[]): string {
  const widths = header.map((title, i) => Math.max(title.length, ...rows.map((row) => row[i]!.length)));
  const line = (cells: readonly string[]): string =>
    `| ${cells.map((cell, i) => cell.padEnd(widths[i]!)).join(" | ")} |`;
  return [line(header), line(widths.map((width) => "-".repeat(width))), ...rows.map(line)].join("\n");
}

/** Keeps all that was measured in bench/results and returns the file's path. */
export function saveResults(bench: string, results: unknown): string {
  const folder = fileURLToPath(new URL("./results", import.meta.url));
  mkdirSync(folder, { recursive: true });
  const path = join(folder, `${bench}-${new Date().toISOString().replaceAll(/[:.]/g, "-")}.json`);
  writeFileSync(path, `${JSON.stringify(results, undefined, 2)}\n`);
  return path;
}
