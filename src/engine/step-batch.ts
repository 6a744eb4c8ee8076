import type { StepBatch } from "../executors/executor.ts";
import type { Share } from "./scheduler.ts";

/** The batch of a step: the tokens of all shares, and the rows that are read. */
export function makeBatch(plan: readonly Share[]): StepBatch {
  const tokenIds: number[] = [];
  const readRows: number[] = [];
  for (const { job, rows, guesses, readFrom } of plan) {
    const { tokens, computed } = job.sequence;
    for (let i = readFrom; i < rows; i++) readRows.push(tokenIds.length + i);
    for (let i = computed; i < computed + rows - guesses; i++) tokenIds.push(tokens[i]!);
    for (let i = 0; i < guesses; i++) tokenIds.push(job.guesses[i]!);
  }
  return {
    tokenIds: Int32Array.from(tokenIds),
    segments: plan.map(({ job, rows }) => ({ rows, position: job.sequence.computed, blocks: job.sequence.blocks })),
    logitRows: Int32Array.from(readRows),
    logits: plan[0]!.job.work.reads !== "hidden",
  };
}

/** What came of a share. */
export interface Outcome {
  /** Nothing more is wanted. */
  readonly ended: boolean;
  readonly generated: number;
  readonly acceptedGuesses: number;
}

/** Hands a share's rows, [rows − readFrom, width], to its work, and moves its sequence along. */
export function deliver({ job, rows, guesses, readFrom }: Share, read: Float32Array, width: number): Outcome {
  const { sequence, work } = job;
  const start = sequence.computed;
  const certain = rows - guesses;
  if (work.reads === "hidden") {
    work.readHidden!(start, read, width);
    sequence.advance(rows);
    return { ended: sequence.pending === 0, generated: 0, acceptedGuesses: 0 };
  }
  const row = (i: number): Float32Array => read.subarray((i - readFrom) * width, (i - readFrom + 1) * width);
  for (let i = readFrom; work.reads === "every" && i < certain; i++) {
    if (start + i < job.readUntil || start + i >= work.prompt.length - 1) continue;
    work.read!(start + i, row(i));
    job.readUntil = start + i + 1;
  }
  sequence.advance(certain);
  let generated = 0;
  let acceptedGuesses = 0;
  while (sequence.pending === 0) {
    const token = work.next(row(certain - 1 + generated));
    if (token === undefined) return { ended: true, generated, acceptedGuesses };
    sequence.tokens.push(token);
    if (generated < guesses && token === job.guesses[generated]) {
      sequence.advance(1);
      acceptedGuesses++;
    }
    generated++;
  }
  return { ended: false, generated, acceptedGuesses };
}
