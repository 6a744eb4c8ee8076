import { HalfbyteError } from "../errors.ts";
import type { Executor, LoadOptions, Rejected } from "./executor.ts";
import { wasmExecutor } from "./wasm/wasm.ts";

export interface ExecutorWishes {
  readonly executor?: string | undefined;
  readonly kernel?: string | undefined;
  readonly threads?: number | undefined;
  /** Stand-ins for wishes not given: HALFBYTE_EXECUTOR, HALFBYTE_KERNEL, HALFBYTE_THREADS. */
  readonly environment?: Readonly<Record<string, string | undefined>> | undefined;
}

export interface SelectedExecutor {
  readonly executor: Executor;
  /** Kernel and threads to load with, where they were asked for. */
  readonly options: Pick<LoadOptions, "kernel" | "threads">;
  readonly reason: string;
  /** Faster executors that cannot run here, and why. */
  readonly rejected: readonly Rejected[];
}

/** Imported only where it runs: few ask for it. */
const referenceExecutor: Executor = {
  name: "reference",
  unavailable: async () => undefined,
  load: async (...model) => (await import("./reference/reference.ts")).referenceExecutor.load(...model),
};

const native = async (): Promise<Executor> => (await import("./native/native-executor.ts")).nativeExecutor;

/** Imported only where it is asked for: it needs Node, and an addon that `npm run build:native` makes. */
const nativeExecutor: Executor = {
  name: "native",
  unavailable: async () =>
    typeof process === "undefined" || !process.versions?.node ? "it needs Node" : (await native()).unavailable(),
  load: async (...model) => (await native()).load(...model),
};

/**
 * All executors; without a wish the first that can run here is taken. The native one is faster than WebAssembly, but is
 * taken only when asked for until it has run on every CPU it has kernels for.
 */
export const EXECUTORS: readonly Executor[] = [wasmExecutor, nativeExecutor, referenceExecutor];

/**
 * The executor that was asked for, or the first that can run here.
 *
 * @throws ERR_EXECUTOR where there is none of that name or it cannot run here, ERR_ARGUMENT for a bad number of threads.
 */
export async function selectExecutor(
  wishes: ExecutorWishes,
  executors: readonly Executor[] = EXECUTORS,
): Promise<SelectedExecutor> {
  const environment = wishes.environment ?? {};
  const name = wishes.executor ?? (environment.HALFBYTE_EXECUTOR || undefined);
  const kernel = wishes.kernel ?? (environment.HALFBYTE_KERNEL || undefined);
  const threads = wishes.threads ?? threadsFrom(environment.HALFBYTE_THREADS);
  const options = { ...(kernel !== undefined && { kernel }), ...(threads !== undefined && { threads }) };
  const rejected: Rejected[] = [];
  for (const executor of executors) {
    if (name !== undefined && executor.name !== name) continue;
    const reason = await executor.unavailable();
    if (reason === undefined)
      return { executor, options, reason: name === undefined ? "the default here" : "asked for", rejected };
    rejected.push({ kernel: executor.name, reason });
  }
  throw new HalfbyteError("ERR_EXECUTOR", name === undefined ? "no executor can run here" : "cannot run here", {
    place: name ?? "executor",
    expected: executors.map((executor) => executor.name).join(" or "),
    got: rejected.map(({ kernel, reason }) => `${kernel} (${reason})`).join(", ") || "no executor of that name",
  });
}

function threadsFrom(text: string | undefined): number | undefined {
  if (!text) return undefined;
  const threads = Number(text);
  if (Number.isSafeInteger(threads) && threads > 0) return threads;
  throw new HalfbyteError("ERR_ARGUMENT", "not a number of threads", { place: "HALFBYTE_THREADS", got: text });
}
