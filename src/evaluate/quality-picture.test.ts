import { describe, expect, it } from "vitest";
import { placeLabels } from "./place-labels.ts";
import { type PicturePoint, qualityPicture } from "./quality-picture.ts";

const text = { title: "a < b & c", sizeAxis: "bits" };
const point = (label: string, size: number, divergence: number, series?: string): PicturePoint => ({
  label,
  size,
  divergence,
  ...(series !== undefined && { series }),
});
const numbers = (svg: string, pattern: RegExp): number[] => [...svg.matchAll(pattern)].map((match) => Number(match[1]));

describe("a picture of quality against size", () => {
  it("has what is smaller on the left, and what is better below", () => {
    const svg = qualityPicture([point("a", 4, 0.1), point("b", 5, 0.01), point("c", 8, 0.001)], text);
    const [xs, ys] = [numbers(svg, /<circle[^>]* cx="([\d.]+)"/g), numbers(svg, /<circle[^>]* cy="([\d.]+)"/g)];
    expect(xs).toHaveLength(3);
    expect(xs).toEqual(xs.toSorted((p, q) => p - q));
    expect(ys).toEqual(ys.toSorted((p, q) => p - q));
  });

  it("joins points of a series in the order of their sizes", () => {
    const svg = qualityPicture([point("a", 5, 0.1, "s"), point("b", 4, 0.2, "s"), point("c", 4.5, 0.3)], text);
    const path = /<path class="join c0" d="M([\d.]+) [\d.]+L([\d.]+) [\d.]+"/.exec(svg);
    expect(Number(path![1])).toBeLessThan(Number(path![2]));
  });

  it.each([
    ["one point", [point("a", 4, 0.1)]],
    ["no difference at all", [point("a", 4, 0), point("b", 4, 0)]],
    ["differences far apart", [point("a", 4, 1e-7), point("b", 4000, 10)]],
  ])("is drawn of %s", (_, points) => {
    const svg = qualityPicture(points, text);
    expect(svg).not.toMatch(/NaN|Infinity|undefined/);
    expect(numbers(svg, /<circle[^>]* c[xy]="([\d.]+)"/g).every((at) => at >= 0 && at <= 800)).toBe(true);
  });

  it("has short labels on its axes, however small the differences are", () => {
    const exponents = Array.from({ length: 12 }, (_, i) => i + 1);
    for (const exponent of exponents) {
      const svg = qualityPicture([point("a", 4, 10 ** -exponent), point("b", 5, 40 * 10 ** -exponent)], text);
      for (const [, label] of svg.matchAll(/<text class="soft"[^>]*>([\d.e-]+)</g))
        expect(label!.length).toBeLessThan(7);
    }
  });

  it("cannot be driven by a name", () => {
    const svg = qualityPicture([point('</title><script>"&\u0007', 4, 0.1)], text);
    expect(svg).not.toContain("<script");
    expect(svg).not.toContain("\u0007");
    expect(svg).toContain("a &lt; b &amp; c");
  });
});

it("labels of near points do not cover each other", () => {
  const within = { left: 0, right: 800, top: 0, bottom: 500 };
  const points = [0, 1, 2, 3].map((i) => ({ label: `model ${i}`, x: 400 + i, y: 200 + 6 * i }));
  const placed = placeLabels(points, within);
  const boxes = placed.map(({ x, y, anchor, text }) => {
    const width = 6.9 * text.length;
    const left = anchor === "start" ? x : anchor === "end" ? x - width : x - width / 2;
    return { left, right: left + width, top: y - 10, bottom: y + 4 };
  });
  for (const [i, a] of boxes.entries())
    for (const b of boxes.slice(i + 1))
      expect(a.right <= b.left || b.right <= a.left || a.bottom <= b.top || b.bottom <= a.top).toBe(true);
});
