#!/usr/bin/env node
import { CommanderError } from "commander";
import { EXIT, type ExitCode } from "./exit-codes.ts";
import { interruptSignal } from "./interrupt.ts";
import { createProgram } from "./program.ts";
import { reportError } from "./report-error.ts";

/** Does what the command line says. */
async function main(): Promise<ExitCode> {
  const interrupt = interruptSignal();
  const program = createProgram(interrupt);
  try {
    await program.parseAsync();
    // `diff` says by its code what it found.
    return interrupt.aborted ? EXIT.interrupted : ((process.exitCode as ExitCode | undefined) ?? EXIT.ok);
  } catch (error) {
    if (interrupt.aborted) return EXIT.interrupted;
    // Commander has said what is wrong; its help and version end with code 0.
    if (error instanceof CommanderError) return error.exitCode === 0 ? EXIT.ok : EXIT.usage;
    const withStack = process.env.HALFBYTE_DEBUG === "1" || process.argv.includes("--verbose");
    return reportError(error, withStack);
  }
}

for (const stream of [process.stdout, process.stderr]) {
  // The reader is gone, as with `| head`: nothing is left to say.
  stream.on("error", (error: NodeJS.ErrnoException) => process.exit(error.code === "EPIPE" ? EXIT.ok : EXIT.failure));
}
const code = await main();
// Whatever still keeps the process alive, its work is done; but pipes may not have taken all yet.
await Promise.all([process.stdout, process.stderr].map((stream) => new Promise((done) => stream.write("", done))));
process.exit(code);
