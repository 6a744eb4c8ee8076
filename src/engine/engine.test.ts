import { describe, expect, it } from "vitest";
import { Random } from "../../test/random-plan.ts";
import { type TextMachine, textMachine } from "../../test/text-machine.ts";
import type { HalfbyteError } from "../errors.ts";
import { Engine, type EngineOptions } from "./engine.ts";
import type { Work } from "./work.ts";

const shape = { vocabulary: 20, maxRows: 24, maxLogitRows: 6 };

function setUp(options: Partial<EngineOptions> = {}): { engine: Engine; machine: TextMachine } {
  const machine = textMachine(shape);
  const engine = new Engine(machine, {
    cacheTokens: 4096,
    maxSequences: 4,
    maxWaiting: 100,
    promptRows: 24,
    ...options,
  });
  return { engine, machine };
}

interface Asked extends Work {
  readonly tokens: number[];
  readonly read: NonNullable<Work["read"]>;
  readonly done: Promise<"done">;
}

/** Takes the likeliest token `count` times. */
function ask(prompt: ArrayLike<number>, count: number, work: Partial<Work> = {}): Asked {
  const tokens: number[] = [];
  let settle: { resolve: (done: "done") => void; reject: (error: unknown) => void };
  const done = new Promise<"done">((resolve, reject) => (settle = { resolve, reject }));
  done.catch(() => {});
  return {
    prompt: Int32Array.from(prompt),
    user: "",
    deadline: Number.POSITIVE_INFINITY,
    shares: true,
    reads: "last",
    tokens,
    done,
    next: (logits) => {
      tokens.push(logits.indexOf(Math.max(...logits)));
      return tokens.length < count ? tokens.at(-1) : undefined;
    },
    read: () => {},
    end: (error) => (error === undefined ? settle.resolve("done") : settle.reject(error)),
    ...work,
  };
}

const text = (random: Random, length: number): number[] => Array.from({ length }, () => random.below(20));
const prompt = text(new Random(1), 40);

async function alone(of: ArrayLike<number>, count: number): Promise<number[]> {
  const work = ask(of, count);
  setUp().engine.submit(work);
  await work.done;
  return work.tokens;
}

async function reason(done: Promise<unknown>): Promise<string> {
  return done.then(
    () => "done",
    (error: HalfbyteError) => error.code ?? error.message,
  );
}

describe("the engine", () => {
  it("lets all that run have a row of each step, and prompts what is left", async () => {
    const { engine, machine } = setUp();
    const works = [ask(prompt, 30), ask(prompt.slice(7), 30), ask([3], 30)];
    for (const work of works) engine.submit(work);
    await Promise.all(works.map(({ done }) => done));
    for (const work of works) expect(work.tokens).toEqual(await alone(work.prompt, 30));
    expect(engine.statistics.steps).toBeLessThan(40);
    expect(machine.rows).toBe(40 + 33 + 1 + 3 * 29);
    expect(engine.statistics).toMatchObject({
      running: 0,
      waiting: 0,
      blocksInUse: 0,
      finished: 3,
      generatedTokens: 87,
    });
  });

  it("takes in what is asked while others run", async () => {
    const { engine, machine } = setUp();
    const first = ask(prompt, 30);
    const second = ask(text(new Random(2), 50), 5);
    engine.submit(first);
    machine.onStep = () => {
      if (first.tokens.length === 3) engine.submit(second);
      if (first.tokens.length === 3) machine.onStep = () => {};
    };
    await second.done;
    expect(first.tokens.length).toBeLessThan(20);
    await first.done;
    expect(first.tokens).toEqual(await alone(prompt, 30));
    expect(second.tokens).toEqual(await alone(second.prompt, 5));
  });

  it("computes a prefix once, for others at the same time and later", async () => {
    const { engine, machine } = setUp();
    const long = text(new Random(3), 100);
    const works = Array.from({ length: 6 }, (_, i) => ask([...long, i], 4));
    for (const work of works) engine.submit(work);
    await Promise.all(works.map(({ done }) => done));
    // The second begins beside the end of the first, where all but what is then computed is there.
    expect(machine.rows).toBeLessThan(101 + 5 * (5 + 16) + 6 * 3);
    const again = ask([...long, ...text(new Random(4), 9)], 4);
    const before = machine.rows;
    engine.submit(again);
    await again.done;
    expect(machine.rows - before).toBe(13 + 3);
    expect(again.tokens).toEqual(await alone(again.prompt, 4));
    expect(engine.statistics.prefixHitTokens).toBeGreaterThan(5 * 80);
  });

  it("neither finds nor leaves anything for those who do not share", async () => {
    const { engine, machine } = setUp();
    for (const shares of [false, true, false]) {
      const work = ask(prompt, 1, { shares });
      engine.submit(work);
      await work.done;
    }
    expect(machine.rows).toBe(3 * 40);
  });

  it("never has more blocks than it may, and preempts without a change of the answer", async () => {
    const { engine, machine } = setUp({ cacheTokens: 160 });
    const works = Array.from({ length: 4 }, (_, i) => ask(text(new Random(i + 5), 20 + i), 60));
    for (const work of works) engine.submit(work);
    await Promise.all(works.map(({ done }) => done));
    expect(engine.statistics.preemptions).toBeGreaterThan(0);
    expect(machine.blocks).toBeLessThanOrEqual(10);
    for (const work of works) expect(work.tokens).toEqual(await alone(work.prompt, 60));
  });

  it("ends with ERR_MEMORY what alone is too large, and answers others", async () => {
    const { engine } = setUp({ cacheTokens: 64 });
    expect(() => engine.submit(ask(text(new Random(1), 65), 1))).toThrow(
      expect.objectContaining({ code: "ERR_MEMORY" }),
    );
    const grows = ask(prompt, 100);
    engine.submit(grows);
    const small = ask([1, 2], 5);
    engine.submit(small);
    expect(await reason(grows.done)).toBe("ERR_MEMORY");
    expect(grows.tokens.length).toBe(25);
    expect(await reason(small.done)).toBe("done");
    expect(engine.statistics.blocksInUse).toBe(0);
  });

  it("refuses more than may wait, and says when to come again", async () => {
    const { engine } = setUp({ maxSequences: 2, maxWaiting: 1 });
    const works = Array.from({ length: 3 }, () => ask(prompt, 3));
    for (const work of works) engine.submit(work);
    expect(() => engine.submit(ask(prompt, 3))).toThrow(
      expect.objectContaining({ code: "ERR_QUEUE_FULL", retryAfterMs: expect.any(Number) }),
    );
    await Promise.all(works.map(({ done }) => done));
    engine.submit(ask(prompt, 3));
  });

  it("lets users take turns, however much each asks", async () => {
    const { engine } = setUp({ maxSequences: 1 });
    const order: string[] = [];
    const works = ["a", "a", "a", "a", "b", "c"].map((user, i) =>
      ask([i, ...prompt], 2, { user, begin: () => order.push(user) }),
    );
    for (const work of works) engine.submit(work);
    await Promise.all(works.map(({ done }) => done));
    expect(order.join("")).toBe("abcaaa");
  });

  it("lets a short prompt of one user pass the long one of another", async () => {
    const { engine } = setUp();
    const ends: string[] = [];
    const long = ask(text(new Random(8), 400), 1, { user: "a", begin: () => {} });
    const short = ask(text(new Random(9), 60), 1, { user: "b" });
    for (const [name, work] of Object.entries({ long, short })) {
      engine.submit(work);
      void work.done.then(() => ends.push(name));
    }
    await long.done;
    expect(ends).toEqual(["short", "long"]);
    expect(long.tokens).toEqual(await alone(long.prompt, 1));
  });

  it.each(["in the queue", "in its prompt", "in its answer"])("is left within one step %s", async (where) => {
    const { engine, machine } = setUp({ maxSequences: 1 });
    const other = ask(prompt, 20);
    const left = ask(text(new Random(2), 100), 100, { end: () => expect.unreachable() });
    if (where === "in the queue") engine.submit(other);
    const ticket = engine.submit(left);
    if (where !== "in the queue") engine.submit(other);
    const step = where === "in the queue" ? 2 : where === "in its prompt" ? 2 : 8;
    let steps = 0;
    let rows = 0;
    machine.onStep = () => {
      if (++steps !== step) return;
      rows = machine.rows;
      ticket.cancel();
      ticket.cancel();
    };
    await other.done;
    expect(other.tokens).toEqual(await alone(prompt, 20));
    if (where !== "in the queue") expect(machine.rows - rows).toBeLessThanOrEqual(24 + 40 + 19);
    expect(engine.statistics).toMatchObject({ running: 0, waiting: 0, blocksInUse: 0, cancelled: 1 });
  });

  it("ends what is late, in work and in the queue", async () => {
    const { engine, machine } = setUp({ maxSequences: 1 });
    machine.onStep = () => new Promise((resolve) => setTimeout(resolve, 1));
    const deadline = performance.now() + 20;
    const works = [ask(prompt, 1e9, { deadline }), ask(prompt, 1e9, { deadline }), ask(prompt, 3)];
    for (const work of works) engine.submit(work);
    expect(await Promise.all(works.map(({ done }) => reason(done)))).toEqual(["ERR_DEADLINE", "ERR_DEADLINE", "done"]);
    expect(engine.statistics).toMatchObject({ blocksInUse: 0, failed: 2 });
  });

  it("gives logits after every token of a prompt, also of one that is computed again", async () => {
    const { engine } = setUp({ cacheTokens: 160 });
    const positions: number[] = [];
    const logits: number[] = [];
    const read = (position: number, row: Float32Array): void => {
      positions.push(position);
      logits.push(row[0]!);
    };
    const others = Array.from({ length: 2 }, (_, i) => ask(text(new Random(i + 5), 30), 40));
    for (const work of others) engine.submit(work);
    const every = ask(text(new Random(7), 50), 40, { reads: "every", read });
    engine.submit(every);
    await Promise.all([every, ...others].map(({ done }) => done));
    expect(positions).toEqual([...Array(49).keys()]);
    const again: number[] = [];
    const fresh = ask(every.prompt, 1, { reads: "every", read: (_, row) => again.push(row[0]!) });
    setUp().engine.submit(fresh);
    await fresh.done;
    expect(logits).toEqual(again);
    expect(every.tokens).toEqual(await alone(every.prompt, 40));
  });

  it("gives hidden states of all tokens, between steps that bring answers on", async () => {
    const { engine } = setUp();
    const states: number[] = [];
    const readHidden = (position: number, rows: Float32Array): void => {
      expect(position * 4).toBe(states.length);
      states.push(...rows);
    };
    const hidden = ask(text(new Random(7), 50), 0, { reads: "hidden", readHidden });
    const answer = ask(prompt, 20);
    engine.submit(answer);
    engine.submit(hidden);
    await Promise.all([answer.done, hidden.done]);
    expect(states).toHaveLength(200);
    expect(answer.tokens).toEqual(await alone(prompt, 20));
  });

  it("checks guesses together, and only those that are right shorten the way", async () => {
    const right = await alone(prompt, 40);
    for (const quality of [0, 2, 3, 9]) {
      const { engine } = setUp();
      const work: Asked = ask(prompt, 40, {
        guess: (most) => {
          const next = right.slice(work.tokens.length, work.tokens.length + most);
          return next.map((token, i) => (i < quality ? token : (token + 1) % 20));
        },
      });
      engine.submit(work);
      await work.done;
      expect(work.tokens).toEqual(right);
      expect(engine.statistics.acceptedDraftTokens > 0).toBe(quality > 0);
      if (quality === 9) expect(engine.statistics.steps).toBeLessThan(12);
    }
  });

  it("ends only the work whose own part fails, and all when steps do", async () => {
    const { engine, machine } = setUp();
    const bad = ask(prompt, 9, {
      next: () => {
        throw new Error("no choice");
      },
    });
    const good = ask(prompt, 9);
    engine.submit(bad);
    engine.submit(good);
    expect(await reason(bad.done)).toBe("no choice");
    expect(await reason(good.done)).toBe("done");
    machine.onStep = () => Promise.reject(new Error("broken"));
    const broken = [ask(prompt, 9), ask([1], 9)];
    for (const work of broken) engine.submit(work);
    expect(await Promise.all(broken.map(({ done }) => reason(done)))).toEqual(["broken", "broken"]);
    expect(engine.statistics.blocksInUse).toBe(0);
  });

  it("is closed with all that runs and waits", async () => {
    const { engine, machine } = setUp({ maxSequences: 1 });
    const works = [ask(prompt, 99), ask(prompt, 99)];
    for (const work of works) engine.submit(work);
    machine.onStep = () => {
      if (works[0]!.tokens.length === 5) engine.close(new Error("closed"));
    };
    expect(await Promise.all(works.map(({ done }) => reason(done)))).toEqual(["closed", "closed"]);
    expect(() => engine.submit(ask(prompt, 1))).toThrow("closed");
  });

  it.each([...Array(30).keys()])("loses and leaks nothing whatever comes, goes and guesses, seed %i", async (seed) => {
    const random = new Random(seed + 100);
    const { engine, machine } = setUp({
      cacheTokens: random.pick([96, 160, 320, 2048]),
      maxSequences: random.pick([1, 3, 8]),
      promptRows: random.pick([1, 7, 24]),
    });
    const stems = [text(random, 40), text(random, 33)];
    const settled: Promise<void>[] = [];
    let toCome = 25;
    const come = (): void => {
      const start = [...random.pick(stems).slice(0, random.below(40)), ...text(random, 1 + random.below(30))];
      const count = 1 + random.below(20);
      const fate = random.below(5);
      const work: Asked = ask(start, count, {
        user: random.pick(["", "a", "b"]),
        shares: random.below(4) > 0,
        reads: random.pick(["last", "last", "every"]),
        guess: (most) => text(random, random.below(most + 1)),
        ...(fate === 0 && { deadline: performance.now() + random.below(8) }),
      });
      const ticket = engine.submit(work);
      if (fate === 1) {
        const cancelAt = random.below(30);
        const watch = (step: number): void => {
          if (step < cancelAt) setImmediate(watch, step + 1);
          else ticket.cancel();
        };
        watch(0);
        return;
      }
      settled.push(
        reason(work.done).then(async (how) => {
          expect(how).toBe(fate === 0 && how !== "done" ? "ERR_DEADLINE" : "done");
          if (how === "done") expect(work.tokens).toEqual(await alone(start, count));
        }),
      );
    };
    machine.onStep = async () => {
      if (random.below(2)) await undefined;
      if (toCome > 0 && random.below(2) && toCome--) come();
    };
    come();
    while (toCome > 0) {
      await new Promise((resolve) => setImmediate(resolve));
      if (engine.statistics.running === 0 && toCome-- > 0) come();
    }
    await Promise.all(settled);
    while (engine.statistics.running + engine.statistics.waiting > 0) await new Promise((r) => setImmediate(r));
    const { blocksInUse, blocksTotal, finished, failed, cancelled } = engine.statistics;
    expect(blocksInUse).toBe(0);
    expect(machine.blocks).toBeLessThanOrEqual(blocksTotal);
    expect(finished + failed + cancelled).toBeGreaterThanOrEqual(26);
  });
});
