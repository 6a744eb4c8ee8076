import type { Command } from "commander";
import { integerFrom } from "./number-arguments.ts";

/** Defines `shard`; what it needs is imported when it runs. */
export function addShardCommand(program: Command, interrupt: AbortSignal): void {
  program
    .command("shard")
    .summary("write a model as one folder for each of N ranks (tensor parallelism)")
    .description(
      "Writes OUT/rank-0 to OUT/rank-N−1, each with that rank's share of every matrix, bit for bit. They are for programs " +
        "that run one model on several processes: no rank can answer alone. docs/shards.md says what is cut how.",
    )
    .argument("<model>", "a folder with config.json and safetensors on this machine")
    .argument("<out>", "a folder to make")
    .requiredOption("--of <ranks>", "how many ranks there are", integerFrom(1))
    .option("--to <encoding>", "the encoding of the shares (default: the model's own)")
    .option("-f, --force", "replace ranks that are there")
    .option("--json", "print what was written as JSON")
    .option("-q, --quiet", "no progress")
    .option("--verbose", "show stacks of errors")
    .addHelpText("after", "\nExample:\n  halfbyte shard ./model-gptq ./model-of-4 --of 4")
    .action(async (model, out, options) => (await import("./shard.ts")).shardCommand(model, out, options, interrupt));
}
