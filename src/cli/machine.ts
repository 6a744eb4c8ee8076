import { readFileSync } from "node:fs";
import { cpus, totalmem } from "node:os";

export interface Machine {
  readonly cpu: string;
  /** Instruction sets that matter for products; undefined where the system does not tell. */
  readonly features: readonly string[] | undefined;
  readonly totalMemory: number;
  /** What can be had without swapping, within a control group's limit. */
  readonly availableMemory: number;
  /** A control group's limit, where it is below the machine's memory. */
  readonly memoryLimit: number | undefined;
}

/** Features of x86 and Arm CPUs that a kernel could be written for, by their names in Linux. */
const FEATURES: ReadonlySet<string> = new Set([
  ...["ssse3", "sse4_1", "avx", "avx2", "fma", "f16c", "avx_vnni", "avx_vnni_int8", "avx512f", "avx512bw", "avx512vl"],
  ...["avx512_vnni", "avx512_bf16", "avx512_fp16", "amx_tile", "amx_int8", "amx_bf16"],
  ...["asimd", "asimdhp", "asimddp", "i8mm", "bf16", "sve", "sve2", "sme"],
]);

export function readMachine(): Machine {
  const cpuInfo = readCpuInfo();
  const limit = process.constrainedMemory();
  const totalMemory = totalmem();
  return {
    cpu: cpuInfo.model ?? cpus()[0]?.model.trim() ?? "unknown",
    features: cpuInfo.features,
    totalMemory,
    availableMemory: process.availableMemory(),
    memoryLimit: limit > 0 && limit < totalMemory ? limit : undefined,
  };
}

/** What /proc/cpuinfo says of the first CPU. */
export function parseCpuInfo(text: string): Pick<Partial<Machine>, "features"> & { readonly model?: string } {
  const value = (key: string): string | undefined => new RegExp(`^${key}\\s*:\\s*(.+)$`, "im").exec(text)?.[1]?.trim();
  const model = value("model name");
  const words = value("flags") ?? value("features");
  return {
    ...(model !== undefined && { model }),
    ...(words !== undefined && { features: words.split(/\s+/).filter((word) => FEATURES.has(word)) }),
  };
}

function readCpuInfo(): ReturnType<typeof parseCpuInfo> {
  try {
    return parseCpuInfo(readFileSync("/proc/cpuinfo", "utf8"));
  } catch {
    return {}; // not Linux
  }
}
