import { describe, expect, it } from "vitest";
import { formatBytes, formatDuration, formatParameters, formatRate, formatTable, plural } from "./format.ts";

describe("figures for people", () => {
  it.each([
    [0, "0 B"],
    [999, "999 B"],
    [999.6, "1.00 kB"],
    [98_362_432, "98.4 MB"],
    [253_113_024, "253 MB"],
    [999_600_000, "1.00 GB"],
    [4.2e15, "4200 TB"],
  ])("shows %d bytes as %s", (bytes, text) => {
    expect(formatBytes(bytes)).toBe(text);
  });

  it.each([
    [0.2, "0 ms"],
    [999.6, "1.00 s"],
    [12_345, "12.3 s"],
    [59_600, "1 min 0 s"],
    [125_000, "2 min 5 s"],
  ])("shows %d ms as %s", (milliseconds, text) => {
    expect(formatDuration(milliseconds)).toBe(text);
  });

  it("keeps three digits of rates and parameters", () => {
    expect([0.5, 9.996, 52.34, 240.4].map(formatRate)).toEqual([
      "0.50 tokens/s",
      "10.0 tokens/s",
      "52.3 tokens/s",
      "240 tokens/s",
    ]);
    expect([268_098_176, 999_950_000, 134_515_008, 12].map(formatParameters)).toEqual([
      "268 M",
      "1.00 B",
      "135 M",
      "12.0",
    ]);
    expect([plural(1, "model"), plural(1200, "model")]).toEqual(["1 model", "1,200 models"]);
  });

  it("makes columns, left or right, without blanks at the end of a line", () => {
    const rows = [
      ["a", "1", "x"],
      ["bcd", "234", ""],
    ];
    expect(formatTable(rows, [1])).toBe("a      1  x\nbcd  234");
  });
});
