import type { Command } from "commander";
import { integerFrom } from "./number-arguments.ts";
import { addExecutorOptions } from "./run-options.ts";

const MODEL = "as for run; what is not on this machine is fetched";

/** Defines `evaluate` and `diff`; what they need is imported when they run. */
export function addEvaluateCommands(program: Command, interrupt: AbortSignal): void {
  const evaluate = program
    .command("evaluate")
    .summary("measure how well models predict a text, and what quantising lost")
    .description(
      "Measures perplexity and size of models and, with --against, how far they are from a reference: KL divergence, " +
        "agreement of the likeliest tokens, and the error of each layer. docs/evaluate.md says what is counted how.",
    )
    .argument("<model...>", MODEL)
    .option("--against <model>", "the reference, as a rule what the models were made from; it runs with a16")
    .option("--text <file>", "a UTF-8 text to measure on (default: about 2,500 tokens that come with halfbyte)")
    .option("--tokens <count>", "use this many tokens of the text at most", integerFrom(2))
    .option("--window <tokens>", "tokens a model sees at once (default: 512)", integerFrom(2))
    .option("--stride <tokens>", "tokens a window goes on from the one before (default: half of it)", integerFrom(1))
    .option("--layers", "show the error of each layer's output")
    .option("--picture <file>", "write a picture of quality against size (SVG); needs --against");
  addExecutorOptions(evaluate)
    .option("--json", "print everything as one JSON object")
    .option("-q, --quiet", "no progress and no notes")
    .option("--verbose", "show stacks of errors")
    .addHelpText(
      "after",
      "\nExamples:\n  halfbyte evaluate smollm2\n" +
        "  halfbyte evaluate ./gptq ./rtn --against ./original --picture quality.svg\n" +
        "  halfbyte evaluate smollm2 --against smollm2 --activations a8",
    )
    .action(async (models: string[], options) =>
      (await import("./evaluate.ts")).evaluateCommand(models, options, interrupt),
    );
  // Here weights are measured, and 16 bits keep activations out of it.
  const activations = evaluate.options.find((option) => option.attributeName() === "activations")!;
  activations.description = "precision of activations (default: a16, whatever HALFBYTE_ACTIVATIONS says)";

  program
    .command("diff")
    .summary("compare the weights of two models tensor by tensor")
    .description(
      "Compares two models of an architecture by what their weights mean: formats, encodings, fused tensors and the " +
        "order of rows in heads may differ. Differences are relative to the root mean square of A's values.",
    )
    .argument("<a>", MODEL)
    .argument("<b>", MODEL)
    .option("--all", "list equal tensors too")
    .option("--json", "print everything as one JSON object")
    .option("-q, --quiet", "no progress")
    .option("--verbose", "show stacks of errors")
    .addHelpText(
      "after",
      "\nExit codes: 0 equal, 1 different, 2 wrong usage or trouble, 130 interrupted.\n\nExample:\n  halfbyte diff ./model.gguf ./folder",
    )
    .action(async (a: string, b: string, options) => (await import("./diff.ts")).diffCommand(a, b, options, interrupt));
}
