import type { ExecutorInfo } from "../executors/executor.ts";
import { linearKernels, type MatrixKernel, type Running } from "../executors/linear-kernels.ts";
import { openModelFile } from "../hub/open-model-file.ts";
import { dumpPlan } from "../plan/dump.ts";
import type { Plan } from "../plan/plan.ts";
import { formatBytes, formatCount, formatParameters, formatTable } from "./format.ts";
import { examine, type Inspection, type InspectionOptions, type TensorRow } from "./inspection.ts";
import { wouldRun } from "./kernels.ts";
import { errorLine } from "./report-error.ts";
import { firstLine, oneLine, styled } from "./terminal-text.ts";

export interface InspectCommandOptions extends InspectionOptions {
  readonly metadata?: boolean;
  readonly tensors?: boolean;
  readonly plan?: boolean;
  readonly json?: boolean;
  readonly threads?: number;
  readonly executor?: string;
  readonly kernel?: string;
}

/** Metadata in the short view is cut to this. */
const SHORT_VALUE = 100;

/** `halfbyte inspect`. */
export async function inspect(
  reference: string,
  options: InspectCommandOptions,
  interrupt: AbortSignal,
): Promise<void> {
  const { executor, kernel, threads } = options;
  const { place, file } = await openModelFile(reference);
  try {
    interrupt.throwIfAborted();
    const inspection = await examine(file, options);
    const running = inspection.plan && (await wouldRun({ executor, kernel, threads, environment: process.env }));
    const choice = running && { running, kernels: kernelsByName(inspection.plan!, running) };
    process.stdout.write(
      options.json ? json(place, inspection, choice) : `${readable(place, inspection, choice, options)}\n`,
    );
  } finally {
    await file.close();
  }
}

interface Choice {
  readonly running: Omit<ExecutorInfo, "threads">;
  readonly kernels: ReadonlyMap<string, MatrixKernel>;
}

function kernelsByName(plan: Plan, running: Running): Choice["kernels"] {
  return new Map(linearKernels(plan, running).map((kernel) => [kernel.name, kernel]));
}

/** `native avx512-vnni, W4A8`. */
function describeKernel(kernel: MatrixKernel | undefined): string {
  if (!kernel) return "";
  return kernel.instructions ? `${kernel.instructions}, ${kernel.arithmetic}` : "row look-up";
}

function json(place: string, inspection: Inspection, choice: Choice | undefined): string {
  const { refusal, tensors, plan, ...rest } = inspection;
  const value = {
    place,
    ...rest,
    ...(refusal && { refusal: { code: refusal.code, message: refusal.message } }),
    ...(choice && { executor: choice.running }),
    tensors: tensors.map((tensor) => {
      const kernel = choice?.kernels.get(tensor.name);
      return kernel ? { ...tensor, kernel } : tensor;
    }),
    ...(plan && { plan: dumpPlan(plan).split("\n") }),
  };
  return `${JSON.stringify(value, undefined, 2)}\n`;
}

function readable(
  place: string,
  inspection: Inspection,
  choice: Choice | undefined,
  options: InspectCommandOptions,
): string {
  const { stdout } = process;
  const heading = (text: string): string => `\n${styled(stdout, "bold", text)}`;
  const { refusal, plan, tensors, metadata } = inspection;
  const parts = [formatTable(facts(place, inspection, choice))];
  if (refusal) parts.push(`\ncannot run: ${errorLine(refusal, stdout)}`);
  if (options.metadata) parts.push(heading("metadata"), formatTable(metadataRows(metadata, Number.POSITIVE_INFINITY)));
  else if (refusal) parts.push(heading("metadata"), formatTable(metadataRows(metadata, SHORT_VALUE)));
  parts.push(
    heading("tensors"),
    formatTable(tensorTable(options.tensors ? ungrouped(tensors) : grouped(tensors), choice), [0, 4]),
  );
  if (choice) parts.push(...notTaken(choice));
  if (options.plan && plan)
    parts.push(
      heading("plan"),
      dumpPlan(plan)
        .split("\n")
        .map((line) => oneLine(line))
        .join("\n"),
    );
  return parts.join("\n");
}

function facts(place: string, inspection: Inspection, choice: Choice | undefined): string[][] {
  const { format, fileBytes, parameters, architecture, config, memory, bitsPerWeight, plan } = inspection;
  const rows = [["file", `${oneLine(place)}, ${format}, ${formatBytes(fileBytes)}`]];
  if (!architecture || !config || !memory || !plan)
    return [
      ...rows,
      ["tensors", `${formatCount(inspection.tensors.length)}, ${formatParameters(parameters)} parameters`],
    ];
  const { layers, hiddenSize, innerSize, heads, kvHeads, headSize } = config;
  const context = `${formatCount(memory.contextLength)} tokens`;
  const windows = layers.flatMap(({ window }) => (window ? [window] : []));
  const attention = `${heads} heads of ${headSize}, ${kvHeads} for keys and values`;
  return [
    ...rows,
    ["model", `${architecture}, ${formatParameters(parameters)} parameters`],
    ["layers", `${layers.length} of width ${formatCount(hiddenSize)}, ${formatCount(innerSize)} inside; ${attention}`],
    ...(windows.length ? [["window", `${formatCount(windows[0]!)} tokens in ${windows.length} of the layers`]] : []),
    ["context", `${formatCount(config.contextLength)} tokens`],
    [
      "vocabulary",
      `${formatCount(config.vocabularySize)} tokens${config.tiedOutput ? ", output tied to embedding" : ""}`,
    ],
    ["weights", `${formatBytes(memory.weightBytes)} packed, ${bitsPerWeight?.toFixed(2)} bits per weight`],
    [
      "cache",
      `${formatBytes(memory.cacheBytesPer1000Tokens)} per 1,000 tokens, ${formatBytes(memory.cacheBytes)} for ${context}, ${plan.cache.type}`,
    ],
    ["arena", `${formatBytes(memory.arenaBytes)} for steps of ${plan.maxRows} tokens`],
    ["memory", `${formatBytes(memory.totalBytes)} with a full context of ${context}`],
    ...(choice ? [["runs on", `${whatRuns(choice)}, activations ${plan.activations}`]] : []),
  ];
}

function whatRuns({ running: { name, kernel, reason } }: Choice): string {
  return `${name} ${kernel} (${reason})`;
}

/** Each reason once, with the number of matrices where it is not all of them. */
function notTaken({ running, kernels }: Choice): string[] {
  const counts = new Map<string, number>();
  const multiplied = [...kernels.values()].filter(({ instructions }) => instructions);
  for (const { kernel, reason } of multiplied.flatMap(({ rejected }) => rejected)) {
    const line = `not ${kernel}: ${firstLine(reason)}`;
    counts.set(line, (counts.get(line) ?? 0) + 1);
  }
  const general = running.rejected.map(({ kernel, reason }) => `not ${kernel}: ${firstLine(reason)}`);
  const some = [...counts].filter(([line]) => !general.includes(line));
  return [...general, ...some.map(([line, count]) => `${line} (${count} of ${multiplied.length} matrices)`)];
}

interface TensorLine extends TensorRow {
  readonly count: number;
  /** The first of them by its whole name. */
  readonly example: string;
}

const ungrouped = (tensors: readonly TensorRow[]): TensorLine[] =>
  tensors.map((tensor) => ({ ...tensor, count: 1, example: tensor.name }));

/** Tensors that differ only in the number of their layer, as one line. */
function grouped(tensors: readonly TensorRow[]): TensorLine[] {
  const lines = new Map<string, TensorLine>();
  for (const tensor of tensors) {
    const name = tensor.name.replace(/\.\d+\./, ".*.");
    const key = JSON.stringify([name, tensor.type, tensor.shape]);
    const line = lines.get(key);
    if (line) lines.set(key, { ...line, count: line.count + 1, bytes: line.bytes + tensor.bytes });
    else lines.set(key, { ...tensor, name, count: 1, example: tensor.name });
  }
  return [...lines.values()];
}

function tensorTable(lines: readonly TensorLine[], choice: Choice | undefined): string[][] {
  const rows = lines.map((tensor) => [
    `${tensor.count} ×`,
    oneLine(tensor.name, 80),
    tensor.type,
    tensor.shape.join(" × "),
    formatBytes(tensor.bytes),
    tensor.packed ?? (choice ? "not used" : ""),
    describeKernel(choice?.kernels.get(tensor.example)),
  ]);
  return [["", "name", "type", "shape", "bytes", choice ? "in memory" : "", choice ? "kernel" : ""], ...rows];
}

function metadataRows(metadata: Inspection["metadata"], maxLength: number): string[][] {
  return Object.entries(metadata).map(([key, value]) => [
    oneLine(key, 80),
    oneLine(typeof value === "string" ? value : JSON.stringify(value), maxLength),
  ]);
}
