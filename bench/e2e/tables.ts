import type { ModelFile } from "../machine.ts";
import { pairRatios, shown, summarize, table } from "../report.ts";
import type { Figures } from "./arms/arm.d.ts";
import type { ReadCeiling } from "./read-ceiling.ts";

/** Arms that take turns on one model; the last is the rival that the others are held against. */
export interface Contest {
  readonly title: string;
  readonly model: ModelFile;
  readonly arms: readonly ContestArm[];
}

export interface ContestArm {
  readonly name: string;
  readonly run: () => Promise<Figures>;
  /** Of the rounds so far. */
  readonly figures: Figures[];
}

/** Undefined where it could not be measured. */
type Measure = (figures: Figures) => number | undefined;

const perProcessor = (rate: number, processors: number | undefined): number | undefined =>
  processors && rate / processors;

const MEASURES: readonly (readonly [name: string, measure: Measure, digits: number])[] = [
  ["decode, tokens/s", (figures) => figures.decodeTokensPerSecond, 1],
  ["prefill, tokens/s", (figures) => figures.prefillTokensPerSecond, 1],
  ["first token, ms", (figures) => figures.firstTokenMs, 0],
  // What a machine that others use too cannot distort much.
  [
    "decode, tokens/processor-second",
    (figures) => perProcessor(figures.decodeTokensPerSecond, figures.decodeProcessors),
    1,
  ],
  [
    "prefill, tokens/processor-second",
    (figures) => perProcessor(figures.prefillTokensPerSecond, figures.prefillProcessors),
    1,
  ],
];

interface Ceilings {
  readonly wasm: ReadCeiling;
  readonly native: ReadCeiling | undefined;
}

export function contestTables(contests: readonly Contest[], ceilings: Ceilings): string {
  return [
    "Median (least–most) of the rounds; ratios are of pairs run one right after the other.",
    table(["where", "what", "arm", "figure", "over the rival"], contests.flatMap(figureRows)),
    "",
    "Bytes of weights read per second of decoding, against plain loops that only read.",
    table(
      ["where", "arm", "GB/s", "of the ceiling", "processors busy"],
      contests.flatMap((contest) => weightRows(contest, ceilings)),
    ),
    "",
    ceilingLine("read ceiling in Chromium (WebAssembly SIMD loads)", ceilings.wasm),
    ceilings.native ? ceilingLine("read ceiling in C++", ceilings.native) : "read ceiling in C++: not measured, no g++",
    "",
    ...contests.flatMap(({ title, arms }) =>
      arms.map((arm) => `${title}, ${arm.name}: ${arm.figures[0]!.description}`),
    ),
  ].join("\n");
}

function figureRows({ title, arms }: Contest): string[][] {
  const rival = arms.at(-1)!;
  return MEASURES.flatMap(([name, measure, digits]) =>
    arms.map((arm) => {
      const [values, rivals] = [arm, rival].map(({ figures }) =>
        figures.map(measure).filter((value) => value !== undefined),
      );
      const ratio = arm !== rival && values!.length === rivals!.length && values!.length > 0;
      return [
        title,
        name,
        arm.name,
        values!.length ? shown(summarize(values!), digits) : "not measured",
        ratio ? shown(pairRatios(values!, rivals!), 2) : "",
      ];
    }),
  );
}

function weightRows({ title, arms }: Contest, { wasm, native }: Ceilings): string[][] {
  const threads = title.includes("2 threads") ? "two" : "one";
  // The rivals keep the same weights in about the same bytes, and a tied output matrix makes each token use them all.
  const weightBytes = arms[0]!.figures[0]!.weightBytes!;
  return arms.map((arm) => {
    const ceiling = (arm.name === "node-llama-cpp" ? native : wasm)?.[threads];
    const rates = summarize(arm.figures.map((figures) => (weightBytes * figures.decodeTokensPerSecond) / 1e9));
    const processors = arm.figures.flatMap((figures) => figures.decodeProcessors ?? []);
    return [
      title,
      arm.name,
      shown(rates, 2),
      ceiling === undefined ? "not measured" : `${((rates.median * 1e11) / ceiling).toFixed(0)} %`,
      processors.length ? shown(summarize(processors), 2) : "not measured",
    ];
  });
}

function ceilingLine(name: string, { one, two }: ReadCeiling): string {
  return `${name}: ${(one / 1e9).toFixed(1)} GB/s by one thread, ${(two / 1e9).toFixed(1)} by two`;
}
