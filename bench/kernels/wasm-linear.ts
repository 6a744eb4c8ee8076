// The linear kernels of wasm/ alone, on one thread. Needs a Node that strips types and has relaxed SIMD: 24 has both.
//   node bench/kernels/wasm-linear.ts [kind,…] [rows,…] [plain,relaxed] [a8,a16] [N×K,…]
// One row: bytes of packed weights per second, over copies that together exceed the caches (STREAMED_MB=0: one copy).
// Many rows: products per second. Time is the process's processor time; median, and 10th to 90th percentile.
import { cpus } from "node:os";
import type { ActivationMode } from "../../src/plan/plan.ts";
import { packRows } from "../../src/weights/pack.ts";
import { packedLayout } from "../../src/weights/packed-layout.ts";
import type { Matrix } from "../../src/weights/quantized-matrix.ts";
import { compileKernels, type KernelBuild, Kernels } from "../../test/kernels/wasm-kernels.ts";
import { Random, randomMatrix } from "../../test/random-plan.ts";

/** Weights of one pass over the copies of a matrix: past the last-level cache of a desktop. */
const STREAMED_BYTES: number = Number(process.env.STREAMED_MB ?? 96) << 20;
const PASSES = 9;
const SMALLEST_PASS_MS = 150;

/** [N, K] of SmolLM2 135M and Gemma 3 270M: gate and up, down, query, output. */
const SHAPES = ["1536x576", "576x1536", "2048x640", "640x2048"];

const list = (at: number, otherwise: string): string[] => (process.argv[at] ?? otherwise).split(",");
const kinds: string[] = list(2, "q4_0,q4_1,q4_k,q5_0,q6_k,q8_0,f16");
const rowCounts: number[] = list(3, "1,2,4,8,128").map(Number);
const builds = list(4, "plain,relaxed") as KernelBuild[];
const modes = list(5, "a8") as ActivationMode[];
const shapes: string[] = list(6, SHAPES.join(","));

interface Arm {
  readonly name: string;
  readonly rows: number;
  /** Packed bytes and products of one pass. */
  readonly bytes: number;
  readonly products: number;
  pass(): void;
  readonly seconds: number[];
}

function arm(module: WebAssembly.Module, name: string, matrix: Matrix, mode: ActivationMode, rows: number): Arm {
  const { N, K } = matrix;
  const layout = packedLayout(matrix, N, name);
  const kernels = new Kernels(module, mode);
  const copies = rows === 1 ? Math.ceil((STREAMED_BYTES || 1) / layout.byteLength) : 1;
  const packed = new Uint8Array(layout.byteLength);
  packRows(layout, matrix, 0, packed);
  const records = Array.from({ length: copies }, () => {
    const { record, address } = kernels.matrix(layout);
    kernels.bytes(address, layout.byteLength).set(packed);
    return record;
  });
  const random = new Random(1);
  const x = kernels.rows(
    Array.from({ length: rows }, () => Float32Array.from({ length: K }, () => random.float())),
    K,
  );
  const out = kernels.rows(
    Array.from({ length: rows }, () => new Float32Array(N)),
    N,
  );
  let input: Parameters<Kernels["linear"]>[0] = x;
  let run = 0;
  if (layout.kind === "quantized") {
    const group = mode === "a8-per-token" ? K : Math.min(layout.activationGroup, K);
    run = Math.min(layout.groupSize, group);
    input = kernels.quantize(x, { K, group, run }, mode);
  }
  let repeats = 1;
  const pass = (): void => {
    for (let i = 0; i < repeats; i++) for (const record of records) kernels.linear(input, layout, record, out, { run });
  };
  for (;;) {
    const started = performance.now();
    pass();
    if (performance.now() - started >= SMALLEST_PASS_MS) break;
    repeats *= 2;
  }
  const times = repeats * copies;
  return { name, rows, bytes: layout.byteLength * times, products: N * K * rows * times, pass, seconds: [] };
}

/** Of this process: a neighbour that takes the core must not count. */
function cpuSeconds(): number {
  const { user, system } = process.cpuUsage();
  return (user + system) / 1e6;
}

const quantile = (sorted: number[], q: number): number => sorted[Math.round((sorted.length - 1) * q)]!;

console.log(
  `${cpus()[0]?.model}, node ${process.version}, v8 ${process.versions.v8}, one thread, ${new Date().toISOString()}`,
);
const modules = new Map<KernelBuild, WebAssembly.Module>();
for (const build of builds) modules.set(build, await compileKernels(build));
for (const kind of kinds) {
  for (const shape of shapes) {
    const [N, K] = shape.split("x").map(Number) as [number, number];
    if (kind.endsWith("_k") && K % 256) continue;
    const matrix = randomMatrix(new Random(3), kind, N, K);
    for (const rows of rowCounts) {
      const arms = builds.flatMap((build) =>
        modes.map((mode) => arm(modules.get(build)!, `${build} ${mode}`, matrix, mode, rows)),
      );
      for (let i = 0; i < PASSES; i++)
        for (const each of arms) {
          const before = cpuSeconds();
          each.pass();
          each.seconds.push(cpuSeconds() - before);
        }
      for (const each of arms) {
        const work = rows === 1 ? each.bytes : each.products;
        const rates = each.seconds.map((s) => work / s / 1e9).sort((a, b) => a - b);
        const [low, median, high] = [0.1, 0.5, 0.9].map((q) => quantile(rates, q).toFixed(2));
        const unit = rows === 1 ? "GB/s" : "GMAC/s";
        console.log(
          `${kind.padEnd(6)} ${shape.padEnd(9)} rows ${String(rows).padEnd(4)} ${each.name.padEnd(14)} ${median} ${unit} (${low} to ${high})`,
        );
      }
    }
  }
}
