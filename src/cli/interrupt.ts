import { EXIT } from "./exit-codes.ts";

/**
 * Aborts at the first SIGINT or SIGTERM, so that what is under way can end in order; a second one ends the process.
 */
export function interruptSignal(): AbortSignal {
  const controller = new AbortController();
  const onSignal = (): void => {
    if (controller.signal.aborted) process.exit(EXIT.interrupted);
    controller.abort(new DOMException("interrupted", "AbortError"));
  };
  process.on("SIGINT", onSignal);
  process.on("SIGTERM", onSignal);
  return controller.signal;
}
