const BYTE_UNITS = ["B", "kB", "MB", "GB", "TB"] as const;

/** Bytes in decimal units, as disks and model hubs count them: `98.4 MB`. */
export function formatBytes(bytes: number): string {
  let unit = 0;
  let value = bytes;
  // 999.5 would be shown as 1000.
  while (value >= 999.5 && unit < BYTE_UNITS.length - 1) {
    value /= 1000;
    unit++;
  }
  return `${unit === 0 ? Math.round(value) : threeDigits(value)} ${BYTE_UNITS[unit]}`;
}

export function formatDuration(milliseconds: number): string {
  if (milliseconds < 999.5) return `${Math.round(milliseconds)} ms`;
  const seconds = milliseconds / 1000;
  if (seconds < 59.5) return `${threeDigits(seconds)} s`;
  const whole = Math.round(seconds);
  return `${Math.floor(whole / 60)} min ${whole % 60} s`;
}

export function formatRate(tokensPerSecond: number): string {
  return `${threeDigits(tokensPerSecond)} tokens/s`;
}

/** Thousands with commas, whatever the user's locale, so that scripts and people read the same. */
export function formatCount(count: number): string {
  return count.toLocaleString("en-US");
}

/** `135 M`: parameters of a model. */
export function formatParameters(count: number): string {
  const scales = [
    [1e9, " B"],
    [1e6, " M"],
    [1e3, " k"],
  ] as const;
  const [scale, suffix] = scales.find(([size]) => count >= size * 0.9995) ?? [1, ""];
  return `${threeDigits(count / scale)}${suffix}`;
}

/** At least three significant digits, none after the point from 100 on. */
function threeDigits(value: number): string {
  if (value >= 99.95) return value.toFixed(0);
  return value >= 9.995 ? value.toFixed(1) : value.toFixed(2);
}

/** Rows as columns of equal width, two spaces apart; columns named in `right` stand to the right. */
export function formatTable(rows: readonly (readonly string[])[], right: readonly number[] = []): string {
  const widths: number[] = [];
  for (const row of rows)
    row.forEach((cell, column) => {
      widths[column] = Math.max(widths[column] ?? 0, cell.length);
    });
  const lines = rows.map((row) =>
    row
      .map((cell, column) => (right.includes(column) ? cell.padStart(widths[column]!) : cell.padEnd(widths[column]!)))
      .join("  ")
      .trimEnd(),
  );
  return lines.join("\n");
}

/** `1 model`, `2 models`. */
export function plural(count: number, noun: string): string {
  return `${formatCount(count)} ${noun}${count === 1 ? "" : "s"}`;
}
