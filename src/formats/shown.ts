const MAX_SHOWN = 80;

/** A name out of a file for a message: quoted, control characters escaped, long ones cut. */
export function shown(name: string): string {
  return JSON.stringify(name.length > MAX_SHOWN ? `${name.slice(0, MAX_SHOWN)}…` : name);
}
