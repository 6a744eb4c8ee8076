/** A mean over tokens. Tokens of a text hang together, so that the true error is somewhat above the standard error. */
export interface Mean {
  readonly mean: number;
  /** Standard deviation over the square root of the count; undefined for fewer than two. */
  readonly standardError: number | undefined;
}

export function meanOf(values: Float64Array): Mean {
  let sum = 0;
  for (const value of values) sum += value;
  const mean = sum / values.length;
  if (values.length < 2) return { mean, standardError: undefined };
  let squares = 0;
  for (const value of values) squares += (value - mean) ** 2;
  return { mean, standardError: Math.sqrt(squares / (values.length - 1) / values.length) };
}

/** The smallest value that at least `share` of them do not exceed. */
export function quantile(sorted: Float64Array, share: number): number {
  return sorted[Math.max(0, Math.ceil(share * sorted.length) - 1)]!;
}
