import { describe, expect, it } from "vitest";
import { oneLine, styled, withoutControls } from "./terminal-text.ts";

describe("text that is not ours", () => {
  it("loses what could drive a terminal, in any cut", () => {
    const text = "a\x1b[31mred\x1b]0;title\x07 \x9b2J\x7f\r\b\ttab\nline 日本 🙂";
    const clean = "a[31mred]0;title 2J\ttab\nline 日本 🙂";
    expect(withoutControls(text)).toBe(clean);
    expect([...text].map((each) => withoutControls(each)).join("")).toBe(clean);
  });

  it("stays in one line, shows what it hides, and has a bounded length", () => {
    expect(oneLine("a\nb\t\r\x1b[2J\u2028\u202e")).toBe("a\\nb\\t\\r\\u001b[2J\\u2028\\u202e");
    expect(oneLine("abcdef", 4)).toBe("abc…");
  });

  it("is styled on a terminal with colours only", () => {
    const stream = (isTTY: boolean, colours: boolean) => ({ write: () => true, isTTY, hasColors: () => colours });
    expect(styled(stream(true, true), "bold", "x")).toBe("\x1b[1mx\x1b[22m");
    expect(styled(stream(true, false), "bold", "x")).toBe("x");
    expect(styled(stream(false, true), "bold", "x")).toBe("x");
  });
});
