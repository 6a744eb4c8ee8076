import { describe, expect, it } from "vitest";
import { type ThreadEvents, WorkerPool } from "./compute-pool.ts";
import { COMMAND, CONTROL } from "./control.ts";
import type { ThreadStart } from "./thread.ts";

/** A pool whose threads are played by the test. */
function playedPool(threads: number) {
  const memory = new WebAssembly.Memory({ initial: 1, maximum: 1, shared: true });
  const control = new Int32Array(memory.buffer);
  const events: ThreadEvents[] = [];
  const ended: number[] = [];
  const module = new WebAssembly.Module(Uint8Array.from([0, 0x61, 0x73, 0x6d, 1, 0, 0, 0]));
  const begun: ThreadStart[] = [];
  const pool = new WorkerPool(threads, (threadEvents) => {
    const thread = events.push(threadEvents) - 1;
    return { begin: (start) => begun.push(start), keepAlive() {}, terminate: async () => void ended.push(thread) };
  });
  const begin = (): void => pool.begin(module, memory);
  const ready = (): void => {
    for (const { onMessage } of events) onMessage("ready");
  };
  return { pool, control, events, ended, begun, begin, ready };
}

const turn = (): Promise<void> => new Promise((resolve) => setTimeout(resolve));

describe("the worker pool", () => {
  it("starts a command once all threads are ready and ends it with the last", async () => {
    const { pool, control, events, begin, begun, ready } = playedPool(2);
    begin();
    expect(begun.map(({ thread, threads }) => [thread, threads])).toEqual([
      [0, 2],
      [1, 2],
    ]);
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
    const { pool, events, ended, begin, ready } = playedPool(3);
    begin();
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

  it("ends threads that have not begun", async () => {
    const { pool, ended } = playedPool(2);
    await pool.dispose();
    expect(ended).toContain(1);
    await expect(pool.run("pack")).rejects.toMatchObject({ code: "ERR_DISPOSED" });
  });

  it("rejects what waits when it is disposed of", async () => {
    const { pool, control, begin, ready } = playedPool(1);
    begin();
    ready();
    const command = pool.run("step");
    await turn();
    await pool.dispose();
    await expect(command).rejects.toMatchObject({ code: "ERR_DISPOSED" });
    expect(control[CONTROL.command / 4]).toBe(COMMAND.stop);
    await pool.dispose();
  });
});
