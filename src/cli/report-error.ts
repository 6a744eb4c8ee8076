import { HalfbyteError } from "../errors.ts";
import { EXIT, type ExitCode } from "./exit-codes.ts";
import { type OutputStream, styled, withoutControls } from "./terminal-text.ts";

/** `error [CODE]: message`; names out of files in it cannot drive a terminal. */
export function errorLine(error: unknown, stream: OutputStream): string {
  const code = errorCode(error);
  const message = error instanceof Error ? error.message : String(error);
  return `${styled(stream, "red", code ? `error [${code}]` : "error")}: ${withoutControls(message)}`;
}

/** Writes the error to standard error, with its stack where that is wanted, and returns what the process exits with. */
export function reportError(error: unknown, withStack: boolean): ExitCode {
  const { stderr } = process;
  stderr.write(`${errorLine(error, stderr)}\n`);
  for (let each = error; withStack && each instanceof Error; each = each.cause)
    stderr.write(`${withoutControls(each.stack ?? String(each))}\n`);
  return errorCode(error) === "ERR_ARGUMENT" ? EXIT.usage : EXIT.failure;
}

function errorCode(error: unknown): string | undefined {
  if (error instanceof HalfbyteError) return error.code;
  const code = error instanceof Error && "code" in error ? error.code : undefined;
  return typeof code === "string" ? code : undefined;
}
