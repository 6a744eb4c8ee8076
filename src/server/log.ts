/** Writes one line of the log: a message, and what belongs to it. */
export type Log = (
  level: "info" | "warn" | "error",
  message: string,
  fields?: Readonly<Record<string, unknown>>,
) => void;

/** JSON lines: `time` (RFC 3339), `level`, `message`, and the fields. */
export function jsonLog(write: (line: string) => void): Log {
  return (level, message, fields = {}) =>
    write(`${JSON.stringify({ time: new Date().toISOString(), level, message, ...fields })}\n`);
}

/** Lines for people at a terminal. */
export function textLog(write: (line: string) => void): Log {
  return (level, message, fields = {}) => {
    const time = new Date().toTimeString().slice(0, 8);
    const rest = Object.entries(fields).map(
      ([name, value]) => `${name}=${typeof value === "string" ? value : JSON.stringify(value)}`,
    );
    write(`${[time, level === "info" ? "" : level.toUpperCase(), message, ...rest].filter(Boolean).join(" ")}\n`);
  };
}

/** What a log may know of an error: all of it, with its causes. */
export function errorFields(error: unknown): Record<string, unknown> {
  if (!(error instanceof Error)) return { error: String(error) };
  const { message, stack, cause } = error;
  const code = "code" in error ? { code: error.code } : {};
  return { error: message, ...code, stack, ...(cause !== undefined && { cause: errorFields(cause) }) };
}
