import { type Command, Option } from "commander";
import { collect, integerFrom, numberArgument } from "./number-arguments.ts";
import { addPlaceOptions } from "./run-options.ts";

/** Defines `quantize`; what it needs is imported when it runs. */
export function addQuantizeCommand(program: Command, interrupt: AbortSignal): void {
  const count = integerFrom(1);
  const command = program
    .command("quantize")
    .summary("make a 4-bit model of a float one")
    .description(
      "Rounds the weights of MODEL's layers to 4 or 8 bits and writes OUT. Norms, biases and, unless --embedding says " +
        "otherwise, embedding and output matrix stay as they are. Interrupted, it goes on where it was when it is run again. " +
        "docs/quantize.md says which method to take.",
    )
    .argument("<model>", "as for run; it must be on this machine, and is read as floats whatever it is")
    .argument("<out>", "a folder to make, or a file that ends in .gguf")
    .addOption(
      new Option("--to <encoding>", "how the weights are written")
        .choices([
          "cpu_int4",
          "gptq",
          "gptq_v2",
          "awq",
          "compressed-tensors",
          "gguf:q4_0",
          "gguf:q4_1",
          "gguf:q4_k",
          "gguf:q8_0",
        ])
        .default("cpu_int4"),
    )
    .addOption(
      new Option(
        "--method <method>",
        "rtn: nearest values, at once; search: best scales; awq, gptq: by a calibration text",
      )
        .choices(["rtn", "search", "awq", "gptq"])
        .default("gptq"),
    );
  command.optionsGroup("Weights:");
  command
    .option(
      "--group <inputs>",
      "inputs that share a scale; 0 for one scale an output (default: 64, GGUF 32)",
      integerFrom(0),
    )
    .addOption(new Option("--bits <bits>", "bits of a weight").choices(["4", "8"]))
    .option("--symmetric", "no zero points (default where the encoding leaves a choice)")
    .option("--asymmetric", "a zero point for each group")
    .option(
      "--keep <name>",
      "leave matrices of this name as they are; * stands for anything; may be given more than once",
      collect,
    )
    .option("--bits8 <name>", "give matrices of this name 8 bits; may be given more than once", collect)
    .addOption(
      new Option("--embedding <bits>", "embedding and output matrix").choices(["keep", "4", "8"]).default("keep"),
    );
  command.optionsGroup("Calibration (awq, gptq):");
  command
    .option("--calibration <file>", "a UTF-8 text as the model will be used on (default: one of halfbyte's own)")
    .option("--samples <count>", "samples of it (default: 128, or what it has)", count)
    .option("--sample-tokens <count>", "tokens of a sample (default: 512)", count)
    .option(
      "--damping <part>",
      "added to the Hessian's diagonal, as a part of its mean; gptq alone (default: 0.01)",
      numberArgument,
    )
    .option("--plain-order", "round inputs in their order in place of the largest first; gptq alone");
  addPlaceOptions(command)
    .option("-f, --force", "replace what is there")
    .option("--json", "print what was written as JSON")
    .option("-q, --quiet", "no progress")
    .option("--verbose", "show stacks of errors")
    .addHelpText(
      "after",
      "\nExamples:\n  halfbyte quantize ./model ./model-int4\n" +
        "  halfbyte quantize ./model ./model-gptq --to gptq --calibration chats.txt\n" +
        "  halfbyte quantize ./model ./model.gguf --to gguf:q4_0 --method search --embedding 8",
    )
    .action(async (model, out, options) => (await import("./quantize.ts")).quantize(model, out, options, interrupt));
}
