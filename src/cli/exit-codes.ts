/** What the process says to its caller; listed in `halfbyte --help` and docs/cli.md. */
export const EXIT = { ok: 0, failure: 1, usage: 2, interrupted: 130 } as const;

export type ExitCode = (typeof EXIT)[keyof typeof EXIT];
