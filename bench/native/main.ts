import type { LoadOptions, PlanRunner } from "../../src/executors/executor.ts";
import { nativeExecutor } from "../../src/executors/native/native-executor.ts";
import { openGguf } from "../../src/formats/gguf/open-gguf.ts";
import { openFileSource } from "../../src/formats/node-file-source.ts";
import { openModel } from "../../src/models/open-model.ts";
import { blocksFor } from "../../src/plan/cache-layout.ts";
import type { ActivationMode } from "../../src/plan/plan.ts";
import { describeMachine } from "../machine.ts";
import { shown, summarize, table } from "../report.ts";

/**
 * Speed of the native executor's steps: `node bench/run.mjs bench/native/main.ts MODEL.gguf [decode=0,1024] [prefill=512]
 * [kernel=NAME] [threads=N] [activations=a8] [rounds=5]`. Only steps are timed: no tokenizer, no sampling.
 */
export async function main(): Promise<void> {
  const [path, ...rest] = process.argv.slice(2);
  if (!path) throw new Error("usage: node bench/run.mjs bench/native/main.ts MODEL.gguf [name=value …]");
  const options = new Map(rest.map((text) => text.split("=") as [string, string]));
  const numbers = (name: string, fallback: string): number[] =>
    (options.get(name) ?? fallback).split(",").filter(Boolean).map(Number);
  const rounds = numbers("rounds", "5")[0]!;
  const machine = describeMachine();
  console.log(
    `${machine.processor}, load ${machine.loadAverage.toFixed(1)}, Node ${machine.node}, ${machine.halfbyte}`,
  );

  const file = await openGguf(await openFileSource(path));
  const model = await openModel(file);
  const activations = (options.get("activations") ?? "a8") as ActivationMode;
  const maxRows = numbers("rows", "128")[0]!;
  const plan = model.compile({ activations, maxRows });
  const load: LoadOptions = {
    ...(options.has("kernel") && { kernel: options.get("kernel")! }),
    ...(options.has("threads") && { threads: Number(options.get("threads")) }),
  };
  const started = performance.now();
  const runner = await nativeExecutor.load(plan, model.weights, load);
  const loadMs = performance.now() - started;
  await file.close();
  const { executor, memory } = runner;
  console.log(`${executor.kernel}, ${executor.threads} threads, ${activations}; loaded in ${loadMs.toFixed(0)} ms`);

  const rows: string[][] = [];
  for (const context of numbers("decode", "0,1024")) {
    const times: Time[] = [];
    await prefill(runner, context, maxRows);
    for (let i = 0; i < rounds * 8; i++) times.push(await timed(() => decode(runner, context + i)));
    rows.push(row(`decode at ${context}`, times, 1, memory.weightBytes));
  }
  for (const length of numbers("prefill", "512")) {
    const times: Time[] = [];
    for (let i = 0; i < rounds; i++) times.push(await timed(() => prefill(runner, length, maxRows)));
    rows.push(row(`prefill of ${length}`, times, length, memory.weightBytes * Math.ceil(length / maxRows)));
  }
  console.log(table(["work", "ms, median (range)", "CPU ms", "tokens/s", "GB/s of weights"], rows));
  await runner.dispose();
}

function row(work: string, times: readonly Time[], tokens: number, bytes: number): string[] {
  const wall = summarize(times.map(({ ms }) => ms));
  const cpu = summarize(times.map(({ cpuMs }) => cpuMs));
  const { median } = wall;
  return [
    work,
    shown(wall, 2),
    shown(cpu, 2),
    ((1000 * tokens) / median).toFixed(1),
    (bytes / median / 1e6).toFixed(1),
  ];
}

interface Time {
  readonly ms: number;
  /** Of all threads: what a busy machine does not stretch. */
  readonly cpuMs: number;
}

async function timed(work: () => Promise<unknown>): Promise<Time> {
  const [started, cpu] = [performance.now(), process.cpuUsage()];
  await work();
  const { user, system } = process.cpuUsage(cpu);
  return { ms: performance.now() - started, cpuMs: (user + system) / 1000 };
}

function blocks(runner: PlanRunner, tokens: number): Int32Array {
  const count = blocksFor(tokens);
  runner.ensureBlocks(count);
  return Int32Array.from({ length: count }, (_, i) => i);
}

async function prefill(runner: PlanRunner, length: number, maxRows: number): Promise<void> {
  for (let position = 0; position < length; position += maxRows) {
    const rows = Math.min(maxRows, length - position);
    await runner.step({
      tokenIds: Int32Array.from({ length: rows }, (_, i) => (position + i) % 1000),
      segments: [{ rows, position, blocks: blocks(runner, length) }],
      logitRows: position + rows === length ? Int32Array.of(rows - 1) : new Int32Array(0),
    });
  }
}

async function decode(runner: PlanRunner, position: number): Promise<void> {
  await runner.step({
    tokenIds: Int32Array.of(42),
    segments: [{ rows: 1, position, blocks: blocks(runner, position + 1) }],
    logitRows: Int32Array.of(0),
  });
}
