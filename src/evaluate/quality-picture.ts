import { placeLabels } from "./place-labels.ts";

/** A model in the picture. */
export interface PicturePoint {
  readonly label: string;
  /** Bits per weight, or bytes: what the axis says. */
  readonly size: number;
  /** Mean divergence from the reference, nats; with its standard error where it is known. */
  readonly divergence: number;
  readonly standardError?: number | undefined;
  /** Points of one series have one colour and are joined in the order of their sizes. */
  readonly series?: string;
}

export interface PictureText {
  readonly title: string;
  /** Below the title. */
  readonly note?: string;
  /** What the horizontal axis measures, with its unit. */
  readonly sizeAxis: string;
}

const WIDTH = 800;
const HEIGHT = 500;
const PLOT = { left: 76, right: WIDTH - 28, top: 84, bottom: HEIGHT - 58 };
/** Light and dark; told apart by people who see red and green alike. */
const COLOURS = [
  ["#1d6fd1", "#6cb2ff"],
  ["#b8500b", "#ffab66"],
  ["#0a7a56", "#4fd1a5"],
  ["#8a3fb0", "#d5a1f2"],
  ["#8a6a00", "#e6c34d"],
  ["#b02a5b", "#ff8fb4"],
] as const;

/**
 * Quality against size as an SVG file of its own: divergence from the reference on a logarithmic axis, lower is better;
 * light or dark as the reader's system is.
 */
export function qualityPicture(points: readonly PicturePoint[], { title, note, sizeAxis }: PictureText): string {
  const x = linearScale(points.map(({ size }) => size));
  const y = logScale(points.map(({ divergence }) => divergence));
  const series = [...new Set(points.map((point) => point.series ?? ""))];
  const colour = (point: PicturePoint): string => `c${series.indexOf(point.series ?? "") % COLOURS.length}`;
  const placed = points.map((point) => ({ ...point, x: x.at(point.size), y: y.at(point.divergence) }));
  const labels = placeLabels(placed, { left: PLOT.left + 4, right: WIDTH - 8, top: PLOT.top, bottom: PLOT.bottom - 4 });
  const body = [
    ...x.ticks.map(({ at, text }) => verticalTick(at, text)),
    ...y.ticks.map(({ at, text }) => horizontalTick(at, text)),
    ...series.filter(Boolean).map((name) =>
      joined(
        placed.filter((point) => point.series === name),
        colour,
      ),
    ),
    ...placed.map((point) => `${whisker(point, y, colour(point))}${dot(point, colour(point))}`),
    ...labels.map(({ x, y, anchor, text }) => words(x, y, text, "ink", anchor)),
    words(PLOT.left - 60, 28, title, "ink title"),
    ...(note === undefined ? [] : [words(PLOT.left - 60, 49, note, "soft")]),
    words(PLOT.left - 60, PLOT.top - 12, "KL divergence from the reference, nats per token: lower is better", "soft"),
    words((PLOT.left + PLOT.right) / 2, HEIGHT - 14, sizeAxis, "soft", "middle"),
  ];
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${WIDTH} ${HEIGHT}" width="${WIDTH}" height="${HEIGHT}" role="img">
<title>${escaped(title)}</title>
<style>${style()}</style>
<rect class="paper" width="${WIDTH}" height="${HEIGHT}" rx="8"/>
${body.filter(Boolean).join("\n")}
</svg>
`;
}

interface Scale {
  at(value: number): number;
  readonly ticks: readonly { readonly at: number; readonly text: string }[];
}

/** Horizontal; ticks at 1, 2 or 5 times a power of ten. */
function linearScale(values: readonly number[]): Scale {
  const margin = Math.max((Math.max(...values) - Math.min(...values)) * 0.1, Math.max(...values) * 0.02);
  const low = Math.max(0, Math.min(...values) - margin);
  const high = Math.max(...values) + 2 * margin;
  const at = (value: number): number => PLOT.left + ((value - low) / (high - low)) * (PLOT.right - PLOT.left);
  const rough = (high - low) / 7;
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = power * ([1, 2, 5].find((factor) => factor * power >= rough) ?? 10);
  const count = Math.floor(high / step) - Math.ceil(low / step) + 1;
  const ticks = Array.from({ length: count }, (_, i) => {
    const value = (Math.ceil(low / step) + i) * step;
    return { at: at(value), text: shortNumber(value) };
  });
  return { at, ticks };
}

/** Vertical; a divergence of 0 stands at the foot. */
function logScale(values: readonly number[]): Scale {
  const positive = values.filter((value) => value > 0);
  const low = Math.min(...positive, 1) / 1.6;
  const high = Math.max(...positive, low * 2) * 1.6;
  const height = PLOT.bottom - PLOT.top;
  const at = (value: number): number =>
    value <= low ? PLOT.bottom : PLOT.bottom - (Math.log(value / low) / Math.log(high / low)) * height;
  const factors = high / low > 100 ? [1] : high / low > 20 ? [1, 3] : [1, 2, 5];
  const ticks = [];
  for (let exponent = Math.floor(Math.log10(low)); 10 ** exponent <= high; exponent++)
    for (const factor of factors) {
      // 10 ** −5 is 9.999999999999999e-6 for some engines: the literal is exact.
      const value = Number(`${factor}e${exponent}`);
      if (value > low && value <= high) ticks.push({ at: at(value), text: shortNumber(value) });
    }
  return { at, ticks };
}

function shortNumber(value: number): string {
  return value >= 1e-4 || value === 0
    ? String(Number(value.toPrecision(6)))
    : Number(value.toPrecision(6)).toExponential();
}

interface Placed extends PicturePoint {
  readonly x: number;
  readonly y: number;
}

function verticalTick(at: number, text: string): string {
  return `<path class="grid" d="M${round(at)} ${PLOT.top}V${PLOT.bottom}"/>${words(at, PLOT.bottom + 20, text, "soft", "middle")}`;
}

function horizontalTick(at: number, text: string): string {
  return `<path class="grid" d="M${PLOT.left} ${round(at)}H${PLOT.right}"/>${words(PLOT.left - 8, at + 4.5, text, "soft", "end")}`;
}

function joined(points: readonly Placed[], colour: (point: PicturePoint) => string): string {
  if (points.length < 2) return "";
  const path = points
    .toSorted((a, b) => a.size - b.size)
    .map(({ x, y }, i) => `${i === 0 ? "M" : "L"}${round(x)} ${round(y)}`)
    .join("");
  return `<path class="join ${colour(points[0]!)}" d="${path}"/>`;
}

function dot({ x, y, label, divergence }: Placed, colour: string): string {
  const hint = `${label}: ${divergence.toPrecision(3)} nats`;
  return `<circle class="dot ${colour}" cx="${round(x)}" cy="${round(y)}" r="5"><title>${escaped(hint)}</title></circle>`;
}

/** One standard error up and down. */
function whisker({ x, divergence, standardError }: Placed, scale: Scale, colour: string): string {
  if (!standardError) return "";
  const [from, to] = [divergence - standardError, divergence + standardError].map((value) => round(scale.at(value)));
  return `<path class="join ${colour}" d="M${round(x)} ${from}V${to}"/>`;
}

function words(x: number, y: number, text: string, kind: string, anchor: string = "start"): string {
  return `<text class="${kind}" x="${round(x)}" y="${round(y)}" text-anchor="${anchor}">${escaped(text)}</text>`;
}

function style(): string {
  const colours = (which: 0 | 1): string =>
    COLOURS.map((pair, i) => `.dot.c${i}{fill:${pair[which]}}.join.c${i}{stroke:${pair[which]}}`).join("");
  return `text{font:13px system-ui,-apple-system,"Segoe UI",sans-serif}.title{font-size:17px;font-weight:600}
.paper{fill:#fff}.ink{fill:#1c2128;stroke:#fff;stroke-width:3px;paint-order:stroke}.soft{fill:#4d5763}.grid{stroke:#dfe3e8;fill:none}.dot{stroke:#fff;stroke-width:1.5}
.join{fill:none;stroke-width:1.5}${colours(0)}
@media(prefers-color-scheme:dark){.paper{fill:#14181d}.ink{fill:#e8ecf1;stroke:#14181d}.soft{fill:#a9b4c0}.grid{stroke:#2c343d}
.dot{stroke:#14181d}${colours(1)}}`;
}

function round(value: number): number {
  return Math.round(value * 10) / 10;
}

const ENTITIES: Readonly<Record<string, string>> = { "&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;" };

function escaped(text: string): string {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: XML has no place for them
  return text.replace(/[&<>"]/g, (character) => ENTITIES[character]!).replace(/[\x00-\x08\x0b-\x1f\x7f-\x9f]/g, "");
}
