/**
 * Runs one arm through the bench's work and tells how fast it was.
 *
 * @param {import("./arms/arm").OpenArm} open
 * @param {never} model a Blob in a page, a path in Node
 * @param {import("./arms/arm").Task} task
 * @param {() => Promise<number | undefined>} processorSeconds what all threads of the arm have used so far
 * @returns {Promise<import("./arms/arm").Figures>}
 */
export async function measure(open, model, task, processorSeconds) {
  const began = performance.now();
  const arm = await open(model, task);
  const first = await arm.generate(task.shortPrompt, 1);
  const firstTokenMs = performance.now() - began;
  // Lets the engine compile what it has found to be hot.
  await arm.generate(task.warmUpPrompt, 8);

  const prefill = await watched(() => arm.generate(task.longPrompt, 1));
  if (prefill.promptTokens !== task.longPromptTokens) throw new Error(`prefilled ${prefill.promptTokens} tokens`);
  const decode = await watched(() => arm.generate(task.shortPrompt, task.decodeTokens + 1));
  if (decode.decodedTokens !== task.decodeTokens) throw new Error(`decoded ${decode.decodedTokens} tokens`);
  if (!decode.text.startsWith(first.text)) throw new Error(`"${first.text}", then "${decode.text}" to the same prompt`);
  await arm.close();
  return {
    description: arm.description,
    weightBytes: arm.weightBytes,
    firstTokenMs,
    prefillTokensPerSecond: (prefill.promptTokens / prefill.promptMs) * 1000,
    decodeTokensPerSecond: (decode.decodedTokens / decode.decodeMs) * 1000,
    decodeProcessors: decode.processors,
    prefillProcessors: prefill.processors,
    text: decode.text,
  };

  async function watched(generate) {
    const before = await processorSeconds();
    const began = performance.now();
    const result = await generate();
    const seconds = (performance.now() - began) / 1000;
    const after = await processorSeconds();
    return { ...result, processors: before === undefined ? undefined : (after - before) / seconds };
  }
}
