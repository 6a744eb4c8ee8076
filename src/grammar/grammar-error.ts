import { type ErrorDetails, HalfbyteError } from "../errors.ts";

/** ERR_GRAMMAR with the place in the schema, pattern or grammar. */
export function grammarError(problem: string, place: string, details: Omit<ErrorDetails, "place"> = {}): HalfbyteError {
  return new HalfbyteError("ERR_GRAMMAR", problem, { place, ...details });
}
