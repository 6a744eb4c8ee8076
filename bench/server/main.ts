// `npm run bench:server`: streams under load, Halfbyte and its rivals in turns. See docs/server.md.
import { parseArgs } from "node:util";
import { pull } from "../../src/hub/index.ts";
import { describeMachine, modelFile, rivalVersions } from "../machine.ts";
import { saveResults, table } from "../report.ts";
import { type LoadFigures, load } from "./load.ts";
import { type BenchServer, running, startHalfbyte, startNodeLlamaCpp } from "./servers.ts";

const USAGE = `npm run bench:server -- [--seconds 120] [--rounds 4] [--streams 1,8,32,128] [--slots 8] [--tokens 64]
  [--model PATH] [--threads 2] [--without-rivals] [--also NAME=URL]
Each server has --seconds at each number of streams, in --rounds turns. --also is a further server with OpenAI's
/v1/completions that runs already, such as llama-server.`;

interface Turn {
  readonly server: string;
  readonly streams: number;
  readonly round: number;
  readonly loadAverage: number;
  readonly memoryBefore: number | undefined;
  readonly memoryAfter: number | undefined;
  readonly figures: LoadFigures;
}

export async function main(): Promise<void> {
  const { values } = parseArgs({
    options: {
      seconds: { type: "string", default: "120" },
      rounds: { type: "string", default: "4" },
      streams: { type: "string", default: "1,8,32,128" },
      slots: { type: "string", default: "8" },
      tokens: { type: "string", default: "64" },
      threads: { type: "string", default: String(describeMachine().processors) },
      model: { type: "string" },
      "without-rivals": { type: "boolean" },
      also: { type: "string", multiple: true, default: [] },
      help: { type: "boolean" },
    },
  });
  if (values.help) return console.log(USAGE);
  const [slots, tokens, rounds, threads] = [values.slots, values.tokens, values.rounds, values.threads].map(Number) as [
    number,
    number,
    number,
    number,
  ];
  const modelPath = values.model ?? (await pull("smollm2")).path;
  const settings = { modelPath, slots, threads, contextLength: 512 };
  const machine = { ...describeMachine(), ...(values["without-rivals"] ? {} : rivalVersions()) };
  const model = await modelFile(modelPath);
  console.log(JSON.stringify({ machine, model, settings: { slots, threads, tokens } }, undefined, 2));

  const servers: BenchServer[] = [];
  const turns: Turn[] = [];
  try {
    servers.push(await startHalfbyte(settings));
    if (!values["without-rivals"]) servers.push(await startNodeLlamaCpp(settings));
    for (const each of values.also) {
      const [name, url] = each.split(/=(.*)/s) as [string, string];
      servers.push(running(name, url));
    }
    const common = { model: "bench", maxTokens: tokens, seconds: Number(values.seconds) / rounds };
    for (const server of servers) await load({ ...common, url: server.url, streams: 2, seconds: 2 });
    for (const streams of values.streams.split(",").map(Number))
      for (let round = 0; round < rounds; round++)
        for (const server of servers)
          turns.push(await takeTurn(server, round, { ...common, url: server.url, streams }));
  } finally {
    for (const server of servers) await server.stop();
  }
  console.log(report(turns));
  console.log(`all figures: ${saveResults("server", { machine, model, settings, turns: turns.map(withoutTimes) })}`);
}

async function takeTurn(server: BenchServer, round: number, options: Parameters<typeof load>[0]): Promise<Turn> {
  const memoryBefore = server.memoryBytes();
  const { loadAverage } = describeMachine();
  const figures = await load(options);
  const turn = { round, loadAverage, memoryBefore, memoryAfter: server.memoryBytes(), figures };
  const { tokensPerSecond, requests, lost } = figures;
  console.log(
    `${options.streams} streams, round ${round + 1}, ${server.name}: ${tokensPerSecond.toFixed(1)} tokens/s, ${requests} answers, ${lost} lost, load ${loadAverage.toFixed(1)}`,
  );
  return { server: server.name, streams: options.streams, ...turn };
}

function report(turns: readonly Turn[]): string {
  const groups = new Map<string, Turn[]>();
  for (const turn of turns) {
    const key = `${turn.streams} ${turn.server}`;
    groups.set(key, [...(groups.get(key) ?? []), turn]);
  }
  const rows = [...groups.values()].map((own) => {
    const first = own.flatMap(({ figures }) => figures.firstTokenMs);
    const between = own.flatMap(({ figures }) => figures.betweenTokensMs);
    const rate = own.reduce((sum, { figures }) => sum + figures.tokensPerSecond, 0) / own.length;
    const sum = (field: "requests" | "lost"): string =>
      String(own.reduce((total, { figures }) => total + figures[field], 0));
    return [
      String(own[0]!.streams),
      own[0]!.server,
      rate.toFixed(1),
      ...[first, between].flatMap((times) => [50, 99].map((percent) => percentile(times, percent).toFixed(0))),
      sum("requests"),
      sum("lost"),
      `${megabytes(own[0]!.memoryBefore)} → ${megabytes(own.at(-1)!.memoryAfter)}`,
    ];
  });
  const header = [
    "streams",
    "server",
    "tokens/s",
    "first p50 ms",
    "p99",
    "between p50 ms",
    "p99",
    "answers",
    "lost",
    "MB",
  ];
  return table(header, rows);
}

function percentile(values: readonly number[], percent: number): number {
  const sorted = [...values].sort((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.floor((sorted.length * percent) / 100))] ?? Number.NaN;
}

function megabytes(bytes: number | undefined): string {
  return bytes === undefined ? "?" : (bytes / 1e6).toFixed(0);
}

/** Hundreds of thousands of times say no more than their percentiles. */
function withoutTimes({ figures, ...turn }: Turn): object {
  const { firstTokenMs, betweenTokensMs, ...rest } = figures;
  const percentiles = (times: readonly number[]): object =>
    Object.fromEntries([1, 25, 50, 75, 90, 99].map((percent) => [`p${percent}`, percentile(times, percent)]));
  return { ...turn, ...rest, firstTokenMs: percentiles(firstTokenMs), betweenTokensMs: percentiles(betweenTokensMs) };
}
