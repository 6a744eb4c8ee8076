import { Command } from "commander";
import { addEvaluateCommands } from "./evaluate-commands.ts";
import { integerFrom } from "./number-arguments.ts";
import { packageVersion } from "./package-version.ts";
import { addQuantizeCommand } from "./quantize-command.ts";
import { addExecutorOptions, addRunOptions, type RunOptions } from "./run-options.ts";
import { addServeCommand } from "./serve-command.ts";
import { addShardCommand } from "./shard-command.ts";

const DEFAULT_MODEL = "smollm2";
const DEFAULT_QUESTION = "What does a CPU do? Answer in two sentences.";
/** A small model may not find an end; the first answer that a user sees should. */
const START_MAX_TOKENS = 400;

const MODEL_HELP =
  "an alias (smollm2, gemma3-270m), hf:owner/repo[:Q4_K_M], pypi:NAME, npm:NAME, a URL, or a path to a GGUF file or a safetensors folder";

const EXIT_CODES = `
Exit codes: 0 done, 1 failed, 2 wrong usage, 130 interrupted.
Text goes to standard output, all else to standard error. docs/cli.md has more.`;

/** The command line. What a command needs is imported only when it runs: help must come at once. */
export function createProgram(interrupt: AbortSignal): Command {
  const program = new Command("halfbyte")
    .description("Runs 4-bit language models on ordinary CPUs.")
    .version(packageVersion(), "-V, --version")
    .exitOverride()
    .showHelpAfterError("(add --help to see what can be said)")
    .addHelpText("after", EXIT_CODES);

  const start = program
    .command("start")
    .summary("ask a small model a question: the first thing to try")
    .description(`Fetches ${DEFAULT_MODEL} where that is needed, and answers a question with it.`)
    .argument("[question...]", "the question", [DEFAULT_QUESTION])
    .option("--model <model>", MODEL_HELP, DEFAULT_MODEL);
  addRunOptions(start)
    .addHelpText("after", example('halfbyte start "Why is the sky blue?"'))
    .action(async (question: string[], options: RunOptions & { model: string }) =>
      (await import("./run.ts")).run(options.model, question, { maxTokens: START_MAX_TOKENS, ...options }, interrupt),
    );

  const run = program
    .command("run")
    .summary("answer one prompt, or chat in the terminal")
    .description(
      "Answers PROMPT and says how fast. Without one, and in a terminal, chats until Ctrl-D; what is piped in is the prompt.",
    )
    .argument("<model>", MODEL_HELP)
    .argument("[prompt...]", "the prompt; a last word of - adds what standard input has");
  addRunOptions(run)
    .addHelpText(
      "after",
      example(
        'halfbyte run smollm2 "Write a haiku about rain."',
        'halfbyte run smollm2 "Sum this up:" - < notes.txt',
        "halfbyte run smollm2 --system 'You answer briefly.'",
      ),
    )
    .action(async (model: string, prompt: string[], options: RunOptions) =>
      (await import("./run.ts")).run(model, prompt, options, interrupt),
    );

  addServeCommand(program, MODEL_HELP, interrupt);

  program
    .command("pull")
    .summary("fetch a model into the cache")
    .description("Fetches a model, checked and resumable, and prints its path.")
    .argument("<model>", MODEL_HELP)
    .option("--refresh", "ask the source again even where the cache has the model")
    .option("--json", "print what is known of the model as JSON")
    .option("-q, --quiet", "no progress")
    .option("--verbose", "show stacks of errors")
    .addHelpText("after", example("halfbyte pull gemma3-270m", "halfbyte pull hf:owner/repo:Q4_K_M"))
    .action(async (model, options) => (await import("./models.ts")).pullModel(model, options, interrupt));

  program
    .command("list")
    .alias("ls")
    .summary("list the models in the cache")
    .description("Lists the models in the cache, with their sizes and where they came from.")
    .option("--json", "print a JSON array")
    .addHelpText("after", example("halfbyte list", "halfbyte list --json | jq '.[].path'"))
    .action(async (options) => (await import("./models.ts")).listCommand(options));

  program
    .command("rm")
    .summary("remove models from the cache")
    .description("Removes models, or what an unfinished pull left of them, from the cache.")
    .argument("<model...>", "names as list shows them, or what they were pulled by")
    .option("-y, --yes", "do not ask")
    .option("--json", "print what was freed as JSON")
    .addHelpText("after", example("halfbyte rm smollm2"))
    .action(async (names, options) => (await import("./models.ts")).removeCommand(names, options, interrupt));

  const inspect = program
    .command("inspect")
    .summary("show what a model file holds and how it would run here")
    .description("Shows a model's architecture, tensors, memory need and kernels. Reads no weights.")
    .argument("<model>", "as for run; it must be on this machine, or the URL of a GGUF file")
    .option("--metadata", "show all metadata")
    .option("--tensors", "show all tensors")
    .option("--plan", "show the compiled step, one op a line")
    .option("-c, --context <tokens>", "state the memory need for this context", integerFrom(1));
  addExecutorOptions(inspect)
    .option("--json", "print everything as one JSON object")
    .option("--verbose", "show stacks of errors")
    .addHelpText("after", example("halfbyte inspect smollm2", "halfbyte inspect ./model.gguf --tensors"))
    .action(async (model, options) => (await import("./inspect.ts")).inspect(model, options, interrupt));

  addEvaluateCommands(program, interrupt);

  program
    .command("convert")
    .summary("write a model in another encoding, every weight the same")
    .description(
      "Writes MODEL as OUT in another encoding. Refuses, naming the first tensor, where that cannot hold a weight exactly.",
    )
    .argument("<model>", "as for run; it must be on this machine")
    .argument("<out>", "a folder to make, or a file that ends in .gguf")
    .requiredOption(
      "--to <encoding>",
      "cpu_int4, gptq, gptq_v2, awq, compressed-tensors, f16, bf16, f32, gguf (each matrix in the smallest type that holds it), or gguf: with f32, f16, bf16, q8_0, q4_0, q4_1, q4_k",
    )
    .option("--lossy", "round what the encoding cannot hold, and say what was rounded")
    .option("-f, --force", "replace what is there")
    .option("--json", "print what was written as JSON")
    .option("-q, --quiet", "no progress")
    .option("--verbose", "show stacks of errors")
    .addHelpText(
      "after",
      example(
        "halfbyte convert ./model-gptq ./model-ct --to compressed-tensors",
        "halfbyte convert ./model-int4 ./model.gguf --to gguf",
        "halfbyte convert smollm2 ./smollm2-f32 --to f32",
      ),
    )
    .action(async (model, out, options) => (await import("./convert.ts")).convert(model, out, options, interrupt));

  addShardCommand(program, interrupt);

  addQuantizeCommand(program, interrupt);

  program
    .command("doctor")
    .summary("show what this machine offers, and test the executors")
    .description("Shows CPU, threads, memory, cache and executors. Each kernel computes a small step as a test.")
    .option("--json", "print everything as one JSON object")
    .option("--verbose", "show stacks of errors")
    .addHelpText("after", example("halfbyte doctor"))
    .action(async (options) => (await import("./doctor.ts")).doctor(options, interrupt));

  return program;
}

function example(...lines: string[]): string {
  return `\n${lines.length > 1 ? "Examples" : "Example"}:\n${lines.map((line) => `  ${line}`).join("\n")}`;
}
