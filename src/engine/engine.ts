import { HalfbyteError } from "../errors.ts";
import type { PlanRunner } from "../executors/executor.ts";
import { blocksFor } from "../plan/cache-layout.ts";
import { FINAL_HIDDEN } from "../plan/plan.ts";
import { BlockPool } from "./block-pool.ts";
import { Job } from "./job.ts";
import { nextTurn } from "./next-turn.ts";
import { Scheduler, type Share } from "./scheduler.ts";
import { Sequence } from "./sequence.ts";
import { RowCosts } from "./speculation/row-costs.ts";
import { Counters, type EngineStatistics } from "./statistics.ts";
import { deliver, makeBatch } from "./step-batch.ts";
import { UserShares } from "./user-shares.ts";
import type { Ticket, Work } from "./work.ts";

export interface EngineOptions {
  /** Positions that all sequences together may hold in the cache. */
  readonly cacheTokens: number;
  /** Works that have their turn in every step. */
  readonly maxSequences: number;
  /** Works that may wait for that. */
  readonly maxWaiting: number;
  /** Prompt tokens in a step that also brings answers on. */
  readonly promptRows: number;
}

/**
 * Runs all that is asked of one model: each step takes a row of every answer under way and as much of the prompts as there
 * is room for. Where blocks run out, the youngest goes back to the queue and is computed again later, with the same bits.
 */
export class Engine {
  readonly #runner: PlanRunner;
  readonly #options: EngineOptions;
  readonly #pool: BlockPool;
  readonly #users = new UserShares();
  readonly #counters = new Counters();
  readonly #scheduler: Scheduler;
  readonly #costs = new RowCosts();
  /** In order of admission. */
  readonly #running: Job[] = [];
  /** In order of arrival, those that were preempted before. */
  readonly #waiting: Job[] = [];
  /** In the step under way: their blocks must stay. */
  #stepping: readonly Share[] = [];
  #looping = false;
  /** Waits for the guesses of others. */
  #guessing = false;
  #closed: { readonly reason: unknown } | undefined;

  constructor(runner: PlanRunner, options: EngineOptions) {
    const limit = blocksFor(options.cacheTokens);
    this.#runner = runner;
    this.#options = options;
    this.#pool = new BlockPool(limit, (count) => runner.ensureBlocks(roundUpBlocks(count, limit)));
    const { maxRows, maxLogitRows } = runner.plan;
    const limits = { maxRows, maxLogitRows, promptRows: options.promptRows };
    this.#scheduler = new Scheduler(limits, this.#users, (job) => this.#preempt(job));
  }

  get statistics(): EngineStatistics {
    return {
      running: this.#running.length,
      waiting: this.#waiting.length,
      blocksInUse: this.#pool.inUse,
      blocksCached: this.#pool.idle,
      blocksTotal: this.#pool.limit,
      blockBytes: this.#runner.plan.cache.blockBytes,
      ...this.#counters.counts,
    };
  }

  /** Takes work in. Throws ERR_QUEUE_FULL, ERR_MEMORY for a prompt larger than the cache, and what `close` was given. */
  submit(work: Work): Ticket {
    if (this.#closed) throw this.#closed.reason;
    const { maxSequences, maxWaiting } = this.#options;
    const optional = work.sequence !== undefined;
    // Two engines that guess for each other must not wait for each other.
    const places = optional && this.#guessing ? 0 : (optional ? 0 : maxWaiting) + maxSequences - this.#running.length;
    if (this.#waiting.length >= places)
      throw new HalfbyteError("ERR_QUEUE_FULL", "too many generations wait already", {
        got: `${this.#waiting.length} waiting`,
        remedy: "come again later",
        retryAfterMs: this.#counters.msUntilPlace,
      });
    if (blocksFor(work.prompt.length) > this.#pool.limit) throw cacheFull(this.#pool.limit);
    const job = new Job(work, this.#pool);
    this.#users.enter(work.user);
    this.#waiting.push(job);
    if (!this.#looping) void this.#loop();
    return {
      get cachedTokens() {
        return job.cached;
      },
      cancel: () => void this.#leave(job, "cancelled"),
    };
  }

  /** A place in the cache for works that follow one another. */
  openSequence(): Sequence {
    return new Sequence(this.#pool, [], true);
  }

  /** Ends all with `reason`, and refuses what may still come. */
  close(reason: unknown): void {
    this.#closed ??= { reason };
    this.#endAll(reason);
  }

  async #loop(): Promise<void> {
    this.#looping = true;
    await undefined; // what is asked for in one go begins together
    while (this.#running.length + this.#waiting.length > 0) {
      try {
        this.#expire();
        this.#admit();
        await this.#guess();
        await this.#step();
      } catch (error) {
        this.#endAll(error);
      }
      await nextTurn();
    }
    this.#looping = false;
  }

  #expire(): void {
    const now = performance.now();
    for (const job of [...this.#waiting, ...this.#running])
      if (now >= job.work.deadline)
        this.#end(job, new HalfbyteError("ERR_DEADLINE", "the generation did not end within its time"));
  }

  /** Lets those in whose prompts find room; of the users, the one who has had least is first. */
  #admit(): void {
    const served = (job: Job): number => this.#users.served(job.work.user);
    while (this.#running.length < this.#options.maxSequences && this.#waiting.length > 0) {
      const job = this.#waiting.reduce((best, other) => (served(other) < served(best) ? other : best));
      const promised = this.#running.reduce(
        (sum, { sequence }) => sum + sequence.missing(sequence.tokens.length + 1),
        0,
      );
      job.adopt();
      const { sequence } = job;
      const needed = sequence.missing(sequence.tokens.length + 1);
      if (this.#running.length > 0 && needed > this.#pool.available - promised) {
        job.release();
        for (const other of this.#waiting.filter(({ work }) => work.sequence))
          this.#end(other, cacheFull(this.#pool.limit));
        return;
      }
      this.#waiting.splice(this.#waiting.indexOf(job), 1);
      this.#running.push(job);
      if (!job.preempted) job.work.begin?.();
    }
  }

  async #guess(): Promise<void> {
    const answering = this.#running.filter(({ sequence }) => sequence.pending === 1);
    const most = Math.floor(this.#runner.plan.maxLogitRows / Math.max(1, answering.length)) - 1;
    this.#guessing = true;
    const guesses = answering.map(async (job) => {
      job.guesses = [];
      try {
        if (most > 0 && job.work.guess) job.guesses = await job.work.guess(most, answering.length, this.#costs);
      } catch (error) {
        this.#end(job, error);
      }
    });
    await Promise.all(guesses);
    this.#guessing = false;
  }

  async #step(): Promise<void> {
    const plan = this.#scheduler.plan(this.#running);
    if (plan.length === 0) {
      // Nobody is left to make room.
      for (const job of [...this.#running]) this.#end(job, cacheFull(this.#pool.limit));
      return;
    }
    this.#stepping = plan;
    try {
      const batch = makeBatch(plan);
      const started = performance.now();
      const logits = await this.#runner.step(batch);
      if (batch.tokenIds.length === batch.logitRows.length)
        this.#costs.note(batch.tokenIds.length, performance.now() - started);
      const rows = batch.logits ? logits : this.#runner.read(FINAL_HIDDEN);
      this.#counters.counts.steps++;
      this.#deliver(plan, rows, rows.length / Math.max(1, batch.logitRows.length));
    } catch (error) {
      for (const { job } of plan) this.#end(job, error);
    } finally {
      this.#stepping = [];
      for (const { job } of plan) if (job.over) job.release();
    }
  }

  #deliver(plan: readonly Share[], rows: Float32Array, width: number): void {
    const { counts } = this.#counters;
    let at = 0;
    for (const share of plan) {
      const { job } = share;
      const first = at;
      at += (share.rows - share.readFrom) * width;
      if (job.over) continue;
      this.#users.charge(job.work.user, share.rows);
      if (job.sequence.pending > 1 || job.work.reads === "hidden") counts.promptTokensComputed += share.rows;
      try {
        const { ended, generated, acceptedGuesses } = deliver(share, rows.subarray(first, at), width);
        counts.generatedTokens += generated;
        counts.draftTokens += share.guesses;
        counts.acceptedDraftTokens += acceptedGuesses;
        if (share.guesses > 0) job.work.guessed?.(share.guesses, acceptedGuesses);
        if (ended) this.#end(job);
      } catch (error) {
        this.#end(job, error);
      }
    }
  }

  /** Back to the queue, before all that are new, with nothing in the cache. */
  #preempt(job: Job): void {
    if (job.work.sequence) {
      job.release();
      this.#end(job, cacheFull(this.#pool.limit));
      return;
    }
    this.#counters.counts.preemptions++;
    job.preempted = true;
    job.release();
    this.#running.splice(this.#running.indexOf(job), 1);
    this.#waiting.unshift(job);
  }

  #endAll(error: unknown): void {
    for (const job of [...this.#running, ...this.#waiting]) this.#end(job, error);
  }

  #end(job: Job, error?: unknown): void {
    if (!this.#leave(job, error === undefined ? "finished" : "failed")) return;
    job.work.end(error);
  }

  /** False for a job that has left before. */
  #leave(job: Job, how: "finished" | "failed" | "cancelled"): boolean {
    if (job.over) return false;
    job.over = true;
    for (const list of [this.#running, this.#waiting]) {
      const at = list.indexOf(job);
      if (at >= 0) list.splice(at, 1);
    }
    if (!this.#stepping.some((share) => share.job === job)) job.release();
    this.#users.leave(job.work.user);
    const { counts } = this.#counters;
    counts[how]++;
    if (job.sequence.shares) {
      counts.prefixQueryTokens += job.work.prompt.length;
      counts.prefixHitTokens += job.cached;
    }
    this.#counters.noteEnd(performance.now());
    return true;
  }
}

function cacheFull(blocks: number): HalfbyteError {
  return new HalfbyteError("ERR_MEMORY", "the key-value cache is full", {
    got: `${blocks} blocks, and more are needed for one text`,
    remedy: "shorten the prompt or the answer, or give the cache more room",
  });
}

/** Growth in steps of an eighth, so that memory is seldom moved and never much larger than needed. */
function roundUpBlocks(count: number, limit: number): number {
  const step = Math.max(4, Math.ceil(count / 8));
  return Math.min(Math.ceil(count / step) * step, limit);
}
