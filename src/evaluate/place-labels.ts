export interface LabelledPoint {
  readonly label: string;
  readonly x: number;
  readonly y: number;
}

export interface Box {
  readonly left: number;
  readonly right: number;
  readonly top: number;
  readonly bottom: number;
}

export interface PlacedLabel {
  readonly text: string;
  readonly x: number;
  /** Of the baseline. */
  readonly y: number;
  readonly anchor: "start" | "middle" | "end";
}

/** Of 13 px text, a little more than the mean. */
const LETTER_WIDTH = 6.9;
const ASCENT = 10;
const DESCENT = 4;
const DOT_RADIUS = 6;
const GAP = 9;

/** Puts each label beside its point where it covers no other point or label, or as few as can be. */
export function placeLabels(points: readonly LabelledPoint[], within: Box): PlacedLabel[] {
  const taken: Box[] = points.map(({ x, y }) => ({
    left: x - DOT_RADIUS,
    right: x + DOT_RADIUS,
    top: y - DOT_RADIUS,
    bottom: y + DOT_RADIUS,
  }));
  return points.map((point, own) => {
    let best: { label: PlacedLabel; box: Box; cost: number } | undefined;
    for (const label of places(point)) {
      const box = boxOf(label);
      const covered = taken.reduce((sum, other, i) => sum + (i === own ? 0 : overlap(box, other)), 0);
      const outside = Math.max(
        0,
        within.left - box.left,
        box.right - within.right,
        within.top - box.top,
        box.bottom - within.bottom,
      );
      const cost = covered + 1000 * outside;
      if (!best || cost < best.cost) best = { label, box, cost };
    }
    taken.push(best!.box);
    return best!.label;
  });
}

/** The best first. */
function places({ label: text, x, y }: LabelledPoint): PlacedLabel[] {
  const middle = y + (ASCENT - DESCENT) / 2;
  const beside = [0, -9, 9, -18, 18, -27, 27].flatMap((shift): PlacedLabel[] => [
    { text, x: x + GAP, y: middle + shift, anchor: "start" },
    { text, x: x - GAP, y: middle + shift, anchor: "end" },
  ]);
  const above: PlacedLabel = { text, x, y: y - GAP, anchor: "middle" };
  const below: PlacedLabel = { text, x, y: y + GAP + ASCENT, anchor: "middle" };
  return [...beside.slice(0, 2), above, below, ...beside.slice(2)];
}

function boxOf({ text, x, y, anchor }: PlacedLabel): Box {
  const width = text.length * LETTER_WIDTH;
  const left = anchor === "start" ? x : anchor === "end" ? x - width : x - width / 2;
  return { left, right: left + width, top: y - ASCENT, bottom: y + DESCENT };
}

function overlap(a: Box, b: Box): number {
  const width = Math.min(a.right, b.right) - Math.max(a.left, b.left);
  const height = Math.min(a.bottom, b.bottom) - Math.max(a.top, b.top);
  return Math.max(0, width) * Math.max(0, height);
}
