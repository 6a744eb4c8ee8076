import type { Job } from "./job.ts";
import type { UserShares } from "./user-shares.ts";

/** What one job has of a step: `rows` tokens from where it is, guesses included. */
export interface Share {
  readonly job: Job;
  readonly rows: number;
  /** Of these, guesses at the end. */
  readonly guesses: number;
  /** The first of the rows that are read; all after it are too. */
  readonly readFrom: number;
}

export interface StepLimits {
  readonly maxRows: number;
  readonly maxLogitRows: number;
  /** Prompt tokens in a step that also brings answers on. */
  readonly promptRows: number;
}

/** Decides what goes into a step. */
export class Scheduler {
  readonly #limits: StepLimits;
  readonly #shares: UserShares;
  readonly #preempt: (job: Job) => void;
  #turn = 0;
  #hiddenTurn = false;

  /** `preempt` takes a job out of `running`, its blocks given back. */
  constructor(limits: StepLimits, shares: UserShares, preempt: (job: Job) => void) {
    this.#limits = limits;
    this.#shares = shares;
    this.#preempt = preempt;
  }

  /**
   * Shares for the running jobs, first come first: a row for each answer under way, then prompts. Jobs that find no block
   * preempt the youngest; empty when the only job left has no room.
   */
  plan(running: readonly Job[]): Share[] {
    for (;;) {
      const kind = this.#kind(running);
      const plan = kind === "hidden" ? this.#prompts(running, [], kind) : this.#answers(running);
      if (plan.length > 0 || running.length < 2) return plan;
      this.#preempt(running.at(-1)!);
    }
  }

  /** States and logits are read from different steps; they take turns. */
  #kind(running: readonly Job[]): "hidden" | "logits" {
    const hidden = running.some(({ work }) => work.reads === "hidden");
    const logits = running.some(({ work }) => work.reads !== "hidden");
    this.#hiddenTurn = hidden && (!logits || !this.#hiddenTurn);
    return this.#hiddenTurn ? "hidden" : "logits";
  }

  #answers(running: readonly Job[]): Share[] {
    const { maxRows, maxLogitRows } = this.#limits;
    const answering = running.filter(isAnswering);
    // Where not all can have a row of logits, the next step goes on with those left out.
    const most = Math.min(maxRows, maxLogitRows);
    const first = answering.length > most ? this.#turn++ * most : 0;
    const chosen = answering.slice(0, most).map((_, i) => answering[(first + i) % answering.length]!);
    let spare = most - chosen.length;
    const plan: Share[] = [];
    for (const job of chosen) {
      if (!running.includes(job)) continue; // preempted for one before it
      const { sequence } = job;
      const { length } = sequence.tokens;
      const wanted = Math.min(job.guesses.length, spare);
      let room = sequence.reserve(length + wanted);
      while (room < length) {
        const victim = running.findLast((other) => other !== job && !plan.some((share) => share.job === other));
        if (!victim) break;
        this.#preempt(victim);
        room = sequence.reserve(length);
      }
      if (room < length) continue;
      const guesses = Math.min(wanted, room - length);
      spare -= guesses;
      plan.push({ job, rows: 1 + guesses, guesses, readFrom: 0 });
    }
    return [...plan, ...this.#prompts(running, plan, "logits")];
  }

  #prompts(running: readonly Job[], answers: readonly Share[], kind: "hidden" | "logits"): Share[] {
    const { maxRows, maxLogitRows, promptRows } = this.#limits;
    const used = answers.reduce((sum, { rows }) => sum + rows, 0);
    let rowsLeft = Math.min(maxRows - used, running.some(isAnswering) ? promptRows : maxRows);
    let readsLeft = kind === "hidden" ? maxRows : maxLogitRows - used;
    const plan: Share[] = [];
    const waiting = running.filter((job) => (job.work.reads === "hidden") === (kind === "hidden") && !isAnswering(job));
    const served = (job: Job): number => this.#shares.served(job.work.user);
    for (const job of waiting.sort((a, b) => served(a) - served(b))) {
      if (rowsLeft <= 0) break;
      job.adopt();
      const { sequence } = job;
      const start = sequence.computed;
      const room = sequence.reserve(start + Math.min(sequence.pending, rowsLeft)) - start;
      const firstRead = firstReadRow(job);
      const rows = Math.min(room, rowsLeft, sequence.pending, firstRead + readsLeft);
      if (rows <= 0) continue;
      plan.push({ job, rows, guesses: 0, readFrom: Math.min(firstRead, rows) });
      rowsLeft -= rows;
      readsLeft -= Math.max(0, rows - firstRead);
    }
    return plan;
  }
}

/** Only its last token is still to be computed. */
function isAnswering({ sequence, work }: Job): boolean {
  return sequence.pending === 1 && work.reads !== "hidden";
}

/** Of the pending tokens, the first that something is read after. */
function firstReadRow({ sequence, work, readUntil }: Job): number {
  const last = sequence.pending - 1;
  const whole = work.reads === "last" || (work.reads === "every" && readUntil >= work.prompt.length - 1);
  return whole ? last : Math.min(last, Math.max(0, readUntil - sequence.computed));
}
