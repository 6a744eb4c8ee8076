import { HalfbyteError } from "../errors.ts";
import { chooseKernel } from "./choose-kernel.ts";
import type { Executor, LoadOptions, Rejected } from "./executor.ts";
import { wasmExecutor } from "./wasm/wasm.ts";

export interface ExecutorWishes {
  readonly executor?: string | undefined;
  readonly kernel?: string | undefined;
  readonly threads?: number | undefined;
  /** Stand-ins for wishes not given: HALFBYTE_EXECUTOR, HALFBYTE_KERNEL, HALFBYTE_THREADS; and HALFBYTE_DISABLED_KERNELS. */
  readonly environment?: Readonly<Record<string, string | undefined>> | undefined;
}

export interface SelectedExecutor {
  readonly executor: Executor;
  /** What of the wishes is the executor's to heed, and the executors that were not taken. */
  readonly options: Pick<LoadOptions, "kernel" | "threads" | "disabled" | "rejected">;
  readonly reason: string;
  /** Faster executors that are not taken, and why. */
  readonly rejected: readonly Rejected[];
}

/** Imported only where it runs: few ask for it. */
const referenceExecutor: Executor = {
  name: "reference",
  unavailable: async () => undefined,
  kernels: async () => [{ name: "typescript", unavailable: undefined }],
  load: async (...model) => (await import("./reference/reference.ts")).referenceExecutor.load(...model),
};

const native = async (): Promise<Executor> => (await import("./native/native-executor.ts")).nativeExecutor;

/** Imported only in Node, and with its addon only when it is looked at. */
const nativeExecutor: Executor = {
  name: "native",
  unavailable: async () => (await native()).unavailable(),
  outdone: async () => (await native()).outdone?.(),
  kernels: async () => (await native()).kernels(),
  load: async (...model) => (await native()).load(...model),
};

const inNode = typeof process !== "undefined" && process.versions?.node !== undefined;

/** All executors of this environment; without a wish the first that can run here is taken. */
export const EXECUTORS: readonly Executor[] = [...(inNode ? [nativeExecutor] : []), wasmExecutor, referenceExecutor];

/**
 * The executor that was asked for, or that has the kernel that was asked for, or the first that runs well here.
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
  const disabled = (environment.HALFBYTE_DISABLED_KERNELS ?? "").split(",").filter(Boolean);
  const asked = name !== undefined || kernel !== undefined;
  const options = { ...(kernel !== undefined && { kernel }), ...(threads !== undefined && { threads }), disabled };
  const rejected: Rejected[] = [];
  for (const executor of executors) {
    if (name !== undefined && executor.name !== name) continue;
    const reason =
      (await executor.unavailable()) ??
      (await whyNoKernel(executor, options)) ??
      (asked ? undefined : await executor.outdone?.());
    if (reason === undefined)
      return {
        executor,
        options: { ...options, rejected },
        reason: asked ? "asked for" : "the default here",
        rejected,
      };
    rejected.push({ kernel: executor.name, reason });
  }
  const named = executors.map((executor) => executor.name).join(" or ");
  throw new HalfbyteError("ERR_EXECUTOR", asked ? "cannot run here" : "no executor can run here", {
    place: [name, kernel].filter((part) => part !== undefined).join(" ") || "executor",
    expected: named,
    got: rejected.map((other) => `${other.kernel} (${other.reason})`).join(", ") || "no executor of that name",
  });
}

async function whyNoKernel(
  executor: Executor,
  options: Pick<LoadOptions, "kernel" | "disabled">,
): Promise<string | undefined> {
  if (options.kernel === undefined && !options.disabled?.length) return undefined;
  try {
    chooseKernel(executor.name, await executor.kernels(), options);
    return undefined;
  } catch (error) {
    if (error instanceof HalfbyteError) return error.message;
    throw error;
  }
}

function threadsFrom(text: string | undefined): number | undefined {
  if (!text) return undefined;
  const threads = Number(text);
  if (Number.isSafeInteger(threads) && threads > 0) return threads;
  throw new HalfbyteError("ERR_ARGUMENT", "not a number of threads", { place: "HALFBYTE_THREADS", got: text });
}
