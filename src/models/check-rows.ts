import { HalfbyteError } from "../errors.ts";

/** Throws ERR_ARGUMENT unless rows `first … first + count − 1` are rows of a matrix of N outputs. */
export function checkRows(name: string, N: number, first: number, count: number): void {
  const whole = Number.isSafeInteger(first) && Number.isSafeInteger(count) && first >= 0 && count >= 0;
  if (whole && count <= N - first) return;
  throw new HalfbyteError("ERR_ARGUMENT", "no such rows", {
    place: name,
    expected: `rows below ${N}`,
    got: `${count} from ${first}`,
  });
}
