import type { Command } from "commander";
import { Option } from "commander";
import { collect, integerFrom } from "./number-arguments.ts";
import { addExecutorOptions, type RunOptions } from "./run-options.ts";

export interface ServeOptions
  extends Pick<
    RunOptions,
    "context" | "threads" | "executor" | "kernel" | "activations" | "cacheType" | "chatTemplate" | "quiet" | "verbose"
  > {
  readonly host: string;
  readonly port: number;
  readonly apiKey?: readonly string[];
  readonly withoutKey?: boolean;
  readonly allowedHost?: readonly string[];
  readonly cors?: readonly string[];
  readonly maxSequences?: number;
  readonly maxWaiting?: number;
  readonly cacheTokens?: number;
  readonly cacheMemory?: number;
  readonly modelMemory?: number;
  readonly timeout: number;
  readonly drain: number;
  readonly maxBody: number;
  readonly maxConnections: number;
  readonly log?: "json" | "text" | "off";
}

const DESCRIPTION = `Serves models by the APIs of OpenAI and Anthropic, until it is stopped: SIGTERM or Ctrl-C
lets answers under way end, a second one ends at once.`;

const EXAMPLES = `
Examples:
  halfbyte serve smollm2
  halfbyte serve small=smollm2 gemma=gemma3-270m --model-memory 4096
  HALFBYTE_API_KEY=... halfbyte serve smollm2 --host 0.0.0.0

docs/server.md has all endpoints, metrics and limits.`;

export function addServeCommand(program: Command, modelHelp: string, interrupt: AbortSignal): void {
  const count = integerFrom(1);
  const serve = program
    .command("serve")
    .summary("serve models over HTTP, by the APIs of OpenAI and Anthropic")
    .description(DESCRIPTION)
    .argument("[model...]", `${modelHelp}; NAME=MODEL gives it the name that requests use`, ["smollm2"]);
  const group = (heading: string): void => void serve.optionsGroup(heading);
  group("Address and access:");
  serve
    .option("--host <address>", "address to listen on; any but loopback needs --api-key", "127.0.0.1")
    .option("-p, --port <number>", "port; 0 takes any that is free", integerFrom(0, 65_535), 8000)
    .option("--api-key <key>", "a key that requests must have, besides those in HALFBYTE_API_KEY (repeatable)", collect)
    .option("--without-key", "let anyone call who reaches the address")
    .option("--allowed-host <name>", "a further name by which the server may be called (repeatable)", collect)
    .option("--cors <origin>", "an origin whose pages may call the server, or * (repeatable)", collect);
  group("Load:");
  serve
    .option("--max-sequences <count>", "answers computed together, for each model (default: 8)", count)
    .option("--max-waiting <count>", "answers that may wait, beyond which 429 refuses them (default: 1024)", count)
    .option("--cache-tokens <count>", "tokens that all answers together keep, for each model", count)
    .option("--cache-memory <MiB>", "the same bound in memory", count)
    .option("--model-memory <MiB>", "memory of all models; the least recently used is unloaded for another", count)
    .option("--timeout <seconds>", "time of one answer, its wait included", count, 600)
    .option("--drain <seconds>", "time for answers under way when the server is stopped", integerFrom(0), 30)
    .option("--max-body <KiB>", "size of a request's body", count, 8192)
    .option("--max-connections <count>", "connections at once", count, 1024);
  group("Model:");
  serve
    .option("-c, --context <tokens>", "tokens that prompt and answer may have together", count)
    .option("--chat-template <file>", "a Jinja chat template in place of the models' own");
  addExecutorOptions(serve);
  group("Output:");
  serve
    .addOption(
      new Option("--log <format>", "lines of the log (default: text in a terminal, else json)").choices([
        "json",
        "text",
        "off",
      ]),
    )
    .option("-q, --quiet", "no progress of downloads")
    .option("--verbose", "show stacks of errors")
    .addHelpText("after", EXAMPLES)
    .action(async (models: string[], options: ServeOptions) =>
      (await import("./serve.ts")).serve(models, options, interrupt),
    );
}
