import { describe, expect, it } from "vitest";
import type { AddOp, RowBuffer } from "./plan.ts";
import { markSync } from "./sync.ts";

const buffer = (name: string, offset: number, stride: number): RowBuffer => ({
  kind: "f32",
  name,
  offset,
  stride,
  width: stride / 4,
});
const add = (a: RowBuffer, b: RowBuffer, out: RowBuffer): AddOp => ({
  op: "add",
  rows: "tokens",
  sync: false,
  a,
  b,
  out,
});

describe("waits between ops", () => {
  const x = buffer("x", 0, 128);
  const y = buffer("y", 1280, 128);

  it("are not needed where threads keep to their own rows of one buffer", () => {
    const ops = markSync([add(x, x, y), add(y, y, y), add(y, x, x)], 10, 1);
    expect(ops.map(({ sync }) => sync)).toEqual([false, false, false]);
  });

  it("are put where a row takes memory that other rows of an earlier buffer had", () => {
    const narrow = buffer("narrow", 0, 64);
    const shifted = buffer("shifted", 128, 128);
    expect(markSync([add(x, x, y), add(y, y, narrow)], 10, 1)[1]!.sync).toBe(true);
    expect(markSync([add(x, x, y), add(y, y, shifted)], 10, 1)[1]!.sync).toBe(true);
  });
});
