import type { AnsweringModel } from "../answer.ts";
import { Sampler } from "../sampling/sampler.ts";
import type { Sequence } from "../sequence.ts";
import type { Ticket, Work } from "../work.ts";
import type { DraftSequence } from "./draft-model.ts";

/** A text in the cache of an engine that guesses how it goes on; it stays there from one guess to the next. */
export class EngineDraft implements DraftSequence {
  readonly #model: AnsweringModel;
  readonly #sampler = new Sampler({ temperature: 0 });
  readonly #sequence: Sequence;
  #ticket: Ticket | undefined;
  #closed = false;

  constructor(model: AnsweringModel) {
    this.#model = model;
    this.#sequence = model.engine.openSequence();
  }

  /** None where the engine has no place or no memory: a guess is not worth waiting for. */
  async propose(tokens: ArrayLike<number>, count: number): Promise<ArrayLike<number>> {
    const guesses: number[] = [];
    const { engine, contextLength } = this.#model;
    if (this.#closed || tokens.length + count > contextLength) return guesses;
    this.#sequence.rewrite(tokens);
    await new Promise<void>((resolve) => {
      const work: Work = {
        prompt: Int32Array.from(tokens),
        user: "",
        deadline: Number.POSITIVE_INFINITY,
        shares: true,
        reads: "last",
        sequence: this.#sequence,
        keepsSequence: () => !this.#closed,
        next: (logits) => {
          const { id } = this.#sampler.sample(logits);
          guesses.push(id);
          return guesses.length < count ? id : undefined;
        },
        end: () => resolve(),
      };
      this.#resolve = resolve;
      try {
        this.#ticket = engine.submit(work);
      } catch {
        resolve();
      }
    });
    this.#ticket = undefined;
    return guesses;
  }

  close(): void {
    if (this.#closed) return;
    this.#closed = true;
    if (!this.#ticket) this.#sequence.release();
    this.#ticket?.cancel();
    this.#resolve();
  }

  #resolve: () => void = () => {};
}
