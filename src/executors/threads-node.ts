import { readFileSync } from "node:fs";
import { availableParallelism, cpus } from "node:os";
import { dirname, join } from "node:path";

/** What the process may use of the machine's CPUs. */
export interface CpuBudget {
  /** Threads worth starting. */
  readonly threads: number;
  /** Logical CPUs of the machine. */
  readonly logical: number;
  /** Logical CPUs that the process may run on. */
  readonly affinity: number;
  /** CPUs' worth of time that its control groups grant, where they limit it. */
  readonly quota: number | undefined;
}

/** Reads affinity and control groups anew. */
export function cpuBudget(): CpuBudget {
  const affinity = availableParallelism();
  const quota = cgroupQuota(readText);
  // A thread that the quota stops would hold up all others.
  const threads = Math.max(1, Math.min(affinity, Math.floor(quota ?? affinity)));
  return { threads, logical: cpus().length, affinity, quota };
}

type ReadText = (path: string) => string | undefined;

/** The smallest quota on the way from the process's control groups (version 2 and 1) to the root, in CPUs. */
export function cgroupQuota(read: ReadText): number | undefined {
  const quotas: number[] = [];
  for (const line of (read("/proc/self/cgroup") ?? "").split("\n")) {
    const [, controllers, path] = /^\d+:([^:]*):(\/.*)$/.exec(line) ?? [];
    if (path === undefined) continue;
    if (controllers === "") {
      for (const folder of upwards("/sys/fs/cgroup", path)) {
        const [limit, period] = (read(join(folder, "cpu.max")) ?? "").trim().split(" ");
        quotas.push(Number(limit) / Number(period));
      }
    } else if (controllers?.split(",").includes("cpu")) {
      for (const folder of upwards("/sys/fs/cgroup/cpu", path)) {
        const limit = Number(read(join(folder, "cpu.cfs_quota_us")) ?? Number.NaN);
        quotas.push(limit / Number(read(join(folder, "cpu.cfs_period_us")) ?? Number.NaN));
      }
    }
  }
  // "max" and −1 stand for no limit.
  const limits = quotas.filter((quota) => quota > 0 && Number.isFinite(quota));
  return limits.length ? Math.min(...limits) : undefined;
}

/** The group's folder and those above it; in a container the path may lie outside what is mounted, the root never. */
function upwards(mount: string, path: string): string[] {
  const folders: string[] = [];
  for (let at = path; at !== "/"; at = dirname(at)) folders.push(join(mount, at));
  return [...folders, mount];
}

function readText(path: string): string | undefined {
  try {
    return readFileSync(path, "utf8");
  } catch {
    return undefined;
  }
}
