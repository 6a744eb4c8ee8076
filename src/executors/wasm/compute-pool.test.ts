import { describe, expect, it } from "vitest";
import { type ThreadEvents, WorkerPool } from "./compute-pool.ts";
import { COMMAND, CONTROL } from "./control.ts";

/** A pool whose threads are played by the test. */
function playedPool(threads: number) {
  const memory = new WebAssembly.Memory({ initial: 1, maximum: 1, shared: true });
  const control = new Int32Array(memory.buffer);
  const events: ThreadEvents[] = [];
  const ended: number[] = [];
  const module = new WebAssembly.Module(Uint8Array.from([0, 0x61, 0x73, 0x6d, 1, 0, 0, 0]));
  const pool = new WorkerPool(module, memory, threads, ({ thread }, threadEvents) => {
    events.push(threadEvents);
    return { keepAlive() {}, terminate: async () => void ended.push(thread) };
  });
  const ready = (): void => {
    for (const { onMessage } of events) onMessage("ready");
  };
  return { pool, control, events, ended, ready };
}

const turn = (): Promise<void> => new Promise((resolve) => setTimeout(resolve));

describe("the worker pool", () => {
  it("starts a command once all threads are ready and ends it with the last", async () => {
    const { pool, control, events, ready } = playedPool(2);
    let done = false;
    const command = pool.run("step").then(() => {
      done = true;
    });
    events[0]!.onMessage("ready");
    await turn();
    expect(control[CONTROL.start / 4]).toBe(0);
    ready();
    await turn();
    expect(control[CONTROL.start / 4]).toBe(1);
    expect(control[CONTROL.command / 4]).toBe(COMMAND.step);
    expect(done).toBe(false);
    events[1]!.onMessage("done");
    await command;
  });

  it("fails the command and ends all threads when one ends", async () => {
    const { pool, events, ended, ready } = playedPool(3);
    ready();
    const command = pool.run("step");
    await turn();
    const cause = new Error("unreachable");
    events[1]!.onFailure(cause);
    await expect(command).rejects.toMatchObject({ code: "ERR_EXECUTOR", cause });
    expect(ended.sort()).toEqual([0, 1, 2]);
    await expect(pool.run("step")).rejects.toMatchObject({ code: "ERR_EXECUTOR" });
    await pool.dispose();
  });

  it("fails a command when a thread cannot start", async () => {
    const { pool, events } = playedPool(2);
    const command = pool.run("pack");
    events[0]!.onFailure(new Error("no such file"));
    await expect(command).rejects.toMatchObject({ code: "ERR_EXECUTOR" });
  });

  it("rejects what waits when it is disposed of", async () => {
    const { pool, control, ready } = playedPool(1);
    ready();
    const command = pool.run("step");
    await turn();
    await pool.dispose();
    await expect(command).rejects.toMatchObject({ code: "ERR_DISPOSED" });
    expect(control[CONTROL.command / 4]).toBe(COMMAND.stop);
    await pool.dispose();
  });
});
