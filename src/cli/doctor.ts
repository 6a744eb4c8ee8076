import { existsSync } from "node:fs";
import { readdir, stat, statfs } from "node:fs/promises";
import { dirname, join } from "node:path";
import { HalfbyteError } from "../errors.ts";
import { referenceExecutor } from "../executors/reference/reference.ts";
import { type CpuBudget, cpuBudget } from "../executors/threads-node.ts";
import { cacheFolder, listModels } from "../hub/index.ts";
import { formatBytes, formatDuration, formatTable, plural } from "./format.ts";
import { allKernels } from "./kernels.ts";
import { type Machine, readMachine } from "./machine.ts";
import { runSelfTest, sameBits } from "./self-test.ts";
import { oneLine, styled } from "./terminal-text.ts";

interface KernelReport {
  readonly executor: string;
  readonly kernel: string;
  readonly runs: boolean;
  /** Why not. */
  readonly reason?: string;
  readonly threads?: number;
  readonly milliseconds?: number;
  /** Whether the test's result has the reference's bits. */
  readonly exact?: boolean;
}

interface CacheReport {
  readonly folder: string;
  readonly models: number;
  /** Unfinished pulls included. */
  readonly bytes: number;
  readonly freeBytes: number | undefined;
}

interface Report {
  readonly node: string;
  readonly v8: string;
  readonly platform: string;
  readonly machine: Machine;
  readonly threads: CpuBudget;
  readonly cache: CacheReport;
  readonly kernels: readonly KernelReport[];
}

/** `halfbyte doctor`. Throws ERR_EXECUTOR, after its report, when a kernel computes something else than the reference. */
export async function doctor(options: { readonly json?: boolean }, interrupt: AbortSignal): Promise<void> {
  const report: Report = {
    node: process.versions.node,
    v8: process.versions.v8,
    platform: `${process.platform} ${process.arch}`,
    machine: readMachine(),
    threads: cpuBudget(),
    cache: await cacheReport(),
    kernels: await kernelReports(interrupt),
  };
  process.stdout.write(`${options.json ? JSON.stringify(report, undefined, 2) : readable(report)}\n`);
  const wrong = report.kernels.find(({ exact }) => exact === false);
  if (wrong)
    throw new HalfbyteError("ERR_EXECUTOR", "computes something else than the reference", {
      place: `${wrong.executor} ${wrong.kernel}`,
      remedy: "please report it, with what doctor says",
    });
}

async function kernelReports(signal: AbortSignal): Promise<KernelReport[]> {
  const { logits: truth } = await runSelfTest(referenceExecutor, { signal });
  const reports: KernelReport[] = [];
  for (const { executor, kernel, unavailable } of await allKernels()) {
    const names = { executor: executor.name, kernel };
    if (unavailable !== undefined) {
      reports.push({ ...names, runs: false, reason: unavailable });
      continue;
    }
    try {
      const from = performance.now();
      const { info, logits } = await runSelfTest(executor, { signal, kernel });
      const milliseconds = Math.round(performance.now() - from);
      reports.push({ ...names, runs: true, threads: info.threads, milliseconds, exact: sameBits(logits, truth) });
    } catch (error) {
      signal.throwIfAborted();
      reports.push({ ...names, runs: false, reason: error instanceof Error ? error.message : String(error) });
    }
  }
  return reports;
}

async function cacheReport(): Promise<CacheReport> {
  const folder = cacheFolder();
  return {
    folder,
    models: (await listModels()).length,
    bytes: await folderBytes(folder),
    freeBytes: await freeBytes(folder),
  };
}

async function folderBytes(folder: string): Promise<number> {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true }).catch(() => []);
  let bytes = 0;
  for (const entry of entries) {
    if (entry.isFile()) bytes += (await stat(join(entry.parentPath, entry.name)).catch(() => ({ size: 0 }))).size;
  }
  return bytes;
}

/** Of the disk that the folder is on, or will be. */
async function freeBytes(folder: string): Promise<number | undefined> {
  let at = folder;
  while (!existsSync(at) && dirname(at) !== at) at = dirname(at);
  return statfs(at).then(
    ({ bavail, bsize }) => bavail * bsize,
    () => undefined,
  );
}

function readable({ node, v8, platform, machine, threads, cache, kernels }: Report): string {
  const { cpu, features, totalMemory, availableMemory, memoryLimit } = machine;
  const { stdout } = process;
  const quota = threads.quota === undefined ? "no quota" : `a quota of ${threads.quota.toFixed(2)} CPUs`;
  const limit = memoryLimit === undefined ? "no limit" : `limited to ${formatBytes(memoryLimit)}`;
  const free = cache.freeBytes === undefined ? "" : `, ${formatBytes(cache.freeBytes)} free on its disk`;
  const facts = formatTable([
    ["system", `Node ${node}, V8 ${v8}, ${platform}`],
    ["CPU", oneLine(cpu)],
    ["features", features ? features.join(" ") || "none of those known here" : "not told by this system"],
    ["threads", `${threads.threads}: ${threads.affinity} of ${threads.logical} CPUs may be used, ${quota}`],
    ["memory", `${formatBytes(totalMemory)}, ${formatBytes(availableMemory)} available, ${limit}`],
    ["cache", `${oneLine(cache.folder)}: ${plural(cache.models, "model")}, ${formatBytes(cache.bytes)}${free}`],
  ]);
  const rows = kernels.map(({ executor, kernel, runs, reason, threads, milliseconds, exact }) => [
    runs ? (exact ? "ok" : "WRONG") : "no",
    `${executor} ${kernel}`,
    runs
      ? `${plural(threads!, "thread")}, loaded and tested in ${formatDuration(milliseconds!)}, ${exact ? "exact" : "not the reference's bits"}`
      : oneLine(reason!.split("\n")[0]!),
  ]);
  const table = `${styled(stdout, "bold", "executors, the default first")}\n${formatTable(rows)}`;
  return [facts, table, ...withoutNative(kernels)].join("\n\n");
}

/** What is tried to load the native executor, where it does not load, and what that costs. */
function withoutNative(kernels: readonly KernelReport[]): string[] {
  const missing = kernels.find(({ executor, kernel }) => executor === "native" && kernel === "");
  if (!missing?.reason) return [];
  const [, ...places] = missing.reason.split("\n").map((line) => oneLine(line));
  const cost =
    "Without it answers come at about half the speed (docs/executors.md has figures); their bits are the same.";
  return [[styled(process.stdout, "bold", "the native executor"), ...places, cost].join("\n")];
}
