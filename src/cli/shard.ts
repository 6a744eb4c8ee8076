import { mkdir, realpath } from "node:fs/promises";
import { join } from "node:path";
import { conversionTarget } from "../convert/convert.ts";
import { checkOutput, openOutput } from "../convert/node-output.ts";
import type { FolderTarget } from "../convert/plan-folder.ts";
import { HalfbyteError } from "../errors.ts";
import { planShard, type ShardFolder } from "../shard/write-shard.ts";
import { formatBytes } from "./format.ts";
import { openModelFile } from "./open-file.ts";
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

/** `halfbyte shard`: interrupted, it leaves whole the ranks that are written. */
export async function shardCommand(
  reference: string,
  output: string,
  options: ShardCommandOptions,
  interrupt: AbortSignal,
): Promise<void> {
  const to = options.to === undefined ? undefined : folderTarget(options.to);
  const progress = options.quiet ? undefined : new ProgressLine(process.stderr);
  const { place, file } = await openModelFile(reference);
  try {
    if ("metadata" in file)
      throw new HalfbyteError("ERR_UNSUPPORTED", "a GGUF file has no encoding that ranks' folders could keep", {
        place,
        remedy: "halfbyte convert makes a folder of it; loadModel takes shards of GGUF files as they are",
      });
    const ranks = Array.from({ length: options.of }, (_, rank) => ({ rank, of: options.of }));
    const folderOf = (rank: number): string => join(output, `rank-${rank}`);
    const outputOptions = { ...(options.force && { force: true }), inputs: [place] };
    if ((await realpath(output).catch(() => undefined)) === (await realpath(place)))
      throw new HalfbyteError("ERR_ARGUMENT", "the output is the input", { place: output });
    for (const { rank } of ranks) await checkOutput(folderOf(rank), "folder", outputOptions);
    // All ranks are found possible before the first is written.
    const plans: ShardFolder[] = [];
    for (const shard of ranks) {
      plans.push(await planShard(file, shard, { ...(to && { to }), signal: interrupt }));
      progress?.update("checking", plans.length, ranks.length);
    }
    await mkdir(output, { recursive: true });
    const written: Written[] = [];
    for (const { share, bytes, write } of plans) {
      const folder = folderOf(share.rank);
      const opened = await openOutput(folder, "folder", outputOptions);
      try {
        await write(opened.folder, {
          signal: interrupt,
          onProgress: (done, total) => progress?.update(`rank ${share.rank}`, done, total),
        });
        interrupt.throwIfAborted();
        await opened.commit();
      } finally {
        await opened.discard();
      }
      written.push({ folder, share, bytes });
    }
    progress?.clear();
    process.stdout.write(options.json ? `${JSON.stringify(written, undefined, 2)}\n` : table(written));
  } finally {
    progress?.clear();
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
      const range = ({ first, end }: { first: number; end: number }): string => `${first} to ${end - 1}`;
      const parts = [
        `heads ${range(heads)} on ${range(kvHeads)}`,
        `inner ${range(inner)}`,
        `tokens ${range(vocabulary)}`,
      ];
      return `${oneLine(folder)}: ${parts.join(", ")}; ${formatBytes(bytes)}\n`;
    })
    .join("");
}
