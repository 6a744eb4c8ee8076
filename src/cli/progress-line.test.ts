import { describe, expect, it } from "vitest";
import { ProgressLine } from "./progress-line.ts";

function stream(
  isTTY: boolean,
  columns = 100,
): { written: string[]; stream: ConstructorParameters<typeof ProgressLine>[0] } {
  const written: string[] = [];
  return { written, stream: { isTTY, columns, write: (text: string) => written.push(text) > 0 } };
}

describe("progress", () => {
  it("is a bar with rate and time left on a terminal", () => {
    const { written, stream: terminal } = stream(true);
    let now = 0;
    const progress = new ProgressLine(terminal, () => now);
    progress.update("downloading", 1_000_000, 4_000_000);
    now = 1000;
    progress.update("downloading", 2_000_000, 4_000_000);
    expect(written.at(-1)).toBe(
      "\r\x1b[2K[############............]  50 %  2.00 MB of 4.00 MB  1.00 MB/s, 2.00 s left  downloading",
    );
    progress.clear();
    expect(written.at(-1)).toBe("\r\x1b[2K");
  });

  it("does not redraw too often, nor past the terminal's width", () => {
    const { written, stream: terminal } = stream(true, 20);
    const progress = new ProgressLine(terminal, () => 0);
    for (let i = 0; i < 100; i++) progress.update("loading a model with a long name", i, 100);
    expect(written).toHaveLength(1);
    expect(written[0]).toBe("\r\x1b[2K[..................");
    progress.update("loading a model with a long name", 100, 100);
    expect(written).toHaveLength(2);
  });

  it("is a few plain lines elsewhere", () => {
    const { written, stream: file } = stream(false);
    const progress = new ProgressLine(file, () => 0);
    for (let i = 0; i <= 1000; i++) progress.update("downloading", i * 1000, 1_000_000);
    progress.update("checking", 0, undefined);
    progress.clear();
    expect(written).toEqual([
      "downloading: 1.00 MB\n",
      "downloading: 25 %\n",
      "downloading: 50 %\n",
      "downloading: 75 %\n",
      "downloading: 100 %\n",
      "checking\n",
    ]);
  });
});
