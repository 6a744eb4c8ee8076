import { join } from "node:path";
import { checkOutput } from "../convert/check-output.ts";
import { conversionTarget } from "../convert/convert.ts";
import { openOutput } from "../convert/node-output.ts";
import type { FolderTarget } from "../convert/plan-folder.ts";
import { HalfbyteError } from "../errors.ts";
import { openModelFile } from "../hub/open-model-file.ts";
import type { Range } from "../shard/cuts.ts";
import { planShard, type ShardFolder } from "../shard/write-shard.ts";
import { formatBytes, plural } from "./format.ts";
import { ProgressLine } from "./progress-line.ts";
import { oneLine } from "./terminal-text.ts";

export interface ShardCommandOptions {
  readonly of: number;
  readonly to?: string;
  readonly force?: boolean;
  readonly json?: boolean;
  readonly quiet?: boolean;
}

interface Written extends Pick<ShardFolder, "share" | "bytes"> {
  readonly folder: string;
}

/** `halfbyte shard`: the ranks take their names together. */
export async function shardCommand(
  reference: string,
  output: string,
  options: ShardCommandOptions,
  interrupt: AbortSignal,
): Promise<void> {
  const to = options.to === undefined ? undefined : folderTarget(options.to);
  const progress = options.quiet ? undefined : new ProgressLine(process.stderr);
  const checking = progress && new ProgressLine(process.stderr, undefined, (ranks) => plural(ranks, "rank"));
  const { place, file } = await openModelFile(reference);
  try {
    if ("metadata" in file)
      throw new HalfbyteError("ERR_UNSUPPORTED", "a GGUF file has no encoding that ranks' folders could keep", {
        place,
        remedy: "halfbyte convert makes a folder of it; loadModel takes shards of GGUF files as they are",
      });
    const ranks = Array.from({ length: options.of }, (_, rank) => ({ rank, of: options.of }));
    const outputOptions = { ...(options.force && { force: true }), inputs: [place] };
    await checkOutput(output, "ranks", outputOptions);
    // All ranks are found possible before the first is written.
    const plans: ShardFolder[] = [];
    for (const shard of ranks) {
      plans.push(await planShard(file, shard, { ...(to && { to }), signal: interrupt }));
      checking?.update("checking", plans.length, ranks.length);
    }
    checking?.clear();
    const written: Written[] = [];
    const opened = await openOutput(output, "ranks", outputOptions);
    try {
      for (const { share, bytes, write } of plans) {
        const name = `rank-${share.rank}`;
        await write(await opened.subfolder(name), {
          signal: interrupt,
          onProgress: (done, total) => progress?.update(`rank ${share.rank}`, done, total),
        });
        written.push({ folder: join(output, name), share, bytes });
      }
      interrupt.throwIfAborted();
      await opened.commit();
    } finally {
      await opened.discard();
    }
    progress?.clear();
    process.stdout.write(options.json ? `${JSON.stringify(written, undefined, 2)}\n` : table(written));
  } catch (error) {
    checking?.clear();
    progress?.clear();
    if (interrupt.aborted && !options.quiet) process.stderr.write("interrupted; nothing was written\n");
    throw error;
  } finally {
    await file.close();
  }
}

function folderTarget(name: string): FolderTarget {
  const target = conversionTarget(name);
  if (target.format === "folder") return target.encoding;
  throw new HalfbyteError("ERR_ARGUMENT", "ranks are written as folders", { place: "--to", got: name });
}

function table(written: readonly Written[]): string {
  return written
    .map(({ folder, share: { heads, kvHeads, inner, vocabulary }, bytes }) => {
      const parts = [
        `${range("head", heads)} on ${range("key-value head", kvHeads)}`,
        range("inner number", inner),
        range("token", vocabulary),
      ];
      return `${oneLine(folder)}: ${parts.join(", ")}; ${formatBytes(bytes)}\n`;
    })
    .join("");
}

/** `heads 3 to 5`, `head 3`. */
function range(what: string, { first, end }: Range): string {
  return end - first === 1 ? `${what} ${first}` : `${what}s ${first} to ${end - 1}`;
}
