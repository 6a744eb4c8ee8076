import uPlot from "uplot";
import "uplot/dist/uPlot.min.css";
import { metrics } from "./api.ts";

const SECONDS = 120;

interface Sample {
  readonly at: number;
  readonly running: number;
  readonly waiting: number;
  readonly cache: number;
  readonly generated: number;
}

/** Plots of the server's load, read from its metrics once a second while they are on the screen. */
export function loadPlots(into: HTMLElement, text: HTMLElement): { start(): void; stop(): void } {
  const samples: Sample[] = [];
  let timer: ReturnType<typeof setInterval> | undefined;
  let plots: uPlot[] | undefined;

  const data = (): [uPlot.AlignedData, uPlot.AlignedData] => {
    const now = samples.at(-1)!.at;
    const times = samples.map(({ at }) => at - now);
    const rates = samples.map((sample, i) => {
      const before = samples[Math.max(0, i - 2)]!;
      return sample.at > before.at ? Math.max(0, sample.generated - before.generated) / (sample.at - before.at) : null;
    });
    return [
      [times, rates, samples.map(({ running }) => running)],
      [times, samples.map(({ cache }) => cache * 100)],
    ];
  };

  const tick = async (): Promise<void> => {
    const found = await metrics().catch(() => undefined);
    if (!found) {
      text.textContent = "The server’s load cannot be read.";
      return;
    }
    const one = (...names: string[]): number => names.map((name) => found.get(name)).find((x) => x !== undefined) ?? 0;
    samples.push({
      at: Date.now() / 1000,
      running: one("vllm:num_requests_running"),
      waiting: one("vllm:num_requests_waiting"),
      cache: one("vllm:kv_cache_usage_perc", "vllm:gpu_cache_usage_perc"),
      generated: one("vllm:generation_tokens_total"),
    });
    while (samples[0]!.at < Date.now() / 1000 - SECONDS) samples.shift();
    plots ??= makePlots(into);
    const sets = data();
    for (const [i, plot] of plots.entries()) plot.setData(sets[i]!);
    const last = samples.at(-1)!;
    const rate = sets[0][1]!.at(-1) ?? 0;
    text.textContent =
      `${last.running} running, ${last.waiting} waiting, ${Number(rate).toFixed(0)} tokens/s in all, ` +
      `${(last.cache * 100).toFixed(0)} % of the cache in use`;
  };

  return {
    start() {
      timer ??= setInterval(() => document.visibilityState === "visible" && void tick(), 1000);
      void tick();
    },
    stop() {
      clearInterval(timer);
      timer = undefined;
    },
  };
}

function makePlots(into: HTMLElement): uPlot[] {
  const style = getComputedStyle(document.documentElement);
  const colour = (name: string): string => style.getPropertyValue(name).trim();
  const axis = {
    stroke: colour("--quiet"),
    grid: { stroke: colour("--line"), width: 1 },
    ticks: { show: false },
    size: 36,
  };
  const options = (title: string, series: uPlot.Series[], scales: uPlot.Scales, right: boolean): uPlot.Options => ({
    title,
    width: Math.max(240, into.clientWidth),
    height: 150,
    cursor: { show: false },
    legend: { live: false },
    scales: { x: { time: false, range: [-SECONDS, 0] }, ...scales },
    axes: [
      { ...axis, size: 24, values: (_, seconds) => seconds.map((second) => (second ? `${second} s` : "now")) },
      axis,
      ...(right ? [{ ...axis, scale: "count", side: 1 as const, grid: { show: false } }] : []),
    ],
    series: [{}, ...series],
  });
  const from0 = { range: (_: uPlot, __: number, most: number): uPlot.Range.MinMax => [0, Math.max(1, most * 1.1)] };
  const speed = new uPlot(
    options(
      "Tokens/s, and answers in the batch",
      [
        { label: "tokens/s", stroke: colour("--accent"), width: 2, points: { show: false } },
        {
          label: "answers",
          stroke: colour("--second"),
          width: 2,
          scale: "count",
          dash: [4, 3],
          points: { show: false },
        },
      ],
      { y: from0, count: from0 },
      true,
    ),
    [[], [], []],
    into,
  );
  const cache = new uPlot(
    options(
      "Cache in use, %",
      [{ label: "cache", stroke: colour("--accent"), width: 2, points: { show: false } }],
      { y: { range: [0, 100] } },
      false,
    ),
    [[], []],
    into,
  );
  new ResizeObserver(() => {
    for (const plot of [speed, cache]) plot.setSize({ width: Math.max(240, into.clientWidth), height: 150 });
  }).observe(into);
  return [speed, cache];
}
