import { describe, expect, it } from "vitest";
import { HalfbyteError } from "../errors.ts";
import { BlockPool, ROOT } from "./block-pool.ts";

const tokens = (start: number): number[] => Array.from({ length: 16 }, (_, i) => start + i);

describe("the pool of blocks", () => {
  it("evicts what was not used longest, and finds nothing under it any more", () => {
    const pool = new BlockPool(3, () => {});
    const [a, b, c] = [pool.take()!, pool.take()!, pool.take()!];
    const first = pool.publish(a, ROOT, tokens(0), 0);
    const child = pool.publish(b, first.id, tokens(16), 0);
    pool.publish(c, ROOT, tokens(50), 0);
    expect(pool.take()).toBeUndefined();
    for (const block of [a, b, c]) pool.give(block);
    expect([pool.inUse, pool.idle, pool.available]).toEqual([0, 3, 3]);
    pool.give(pool.share(pool.find(ROOT, tokens(50), 0)!));
    expect(pool.take()).toBe(a);
    expect(pool.find(ROOT, tokens(0), 0)).toBeUndefined();
    // The same text again is another block, with children of its own.
    const again = pool.publish(a, ROOT, tokens(0), 0);
    expect(again.id).not.toBe(first.id);
    expect(pool.find(again.id, tokens(16), 0)).toBeUndefined();
    expect(pool.find(first.id, tokens(16), 0)).toBe(child);
  });

  it("tells contents apart by every token and all before", () => {
    const pool = new BlockPool(9, () => {});
    const known = pool.publish(pool.take()!, ROOT, tokens(0), 0);
    expect(pool.find(ROOT, [9, ...tokens(0)], 1)).toBe(known);
    expect(pool.find(ROOT, tokens(1), 0)).toBeUndefined();
    expect(pool.find(known.id, tokens(0), 0)).toBeUndefined();
    expect(pool.publish(pool.take()!, ROOT, tokens(0), 0)).toBe(known);
  });

  it("keeps a shared block until its last user gives it back", () => {
    const pool = new BlockPool(1, () => {});
    const block = pool.take()!;
    const known = pool.publish(block, ROOT, tokens(0), 0);
    pool.share(known);
    pool.give(block);
    expect([pool.inUse, pool.take()]).toEqual([1, undefined]);
    pool.give(block);
    expect([pool.inUse, pool.take()]).toEqual([0, block]);
  });

  it("makes do with what the executor can have, and passes other failures on", () => {
    let code: "ERR_MEMORY" | "ERR_DISPOSED" = "ERR_MEMORY";
    const pool = new BlockPool(5, (count) => {
      if (count > 2) throw new HalfbyteError(code, "no more");
    });
    expect([pool.take(), pool.take(), pool.take(), pool.available]).toEqual([0, 1, undefined, 0]);
    pool.give(1);
    expect(pool.take()).toBe(1);
    code = "ERR_DISPOSED";
    expect(() =>
      new BlockPool(1, () => {
        throw new HalfbyteError(code, "gone");
      }).take(),
    ).toThrow("gone");
  });
});
