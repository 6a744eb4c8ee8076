import { LoggerWithoutDebug, Wllama } from "@wllama/wllama";

const wasm = new URL("/rivals/@wllama/wllama/esm/wasm/wllama.wasm", location.href).href;

/**
 * Opens a model in wllama, on the CPU, with room for one conversation: by default it makes room for four.
 * @type {import("./arm").OpenArm}
 */
export async function open(model, { threads, contextLength }) {
  const wllama = new Wllama({ default: wasm }, { suppressNativeLog: true, logger: LoggerWithoutDebug });
  await wllama.loadModel([model], { n_threads: threads, n_ctx: contextLength, n_parallel: 1, n_gpu_layers: 0 });
  const used = wllama.getNumThreads();
  if (used !== threads || wllama.isMultithread() !== threads > 1) throw new Error(`wllama runs ${used} threads`);
  return {
    description: `llama.cpp ${Wllama.getLibllamaVersion()}, ${used} threads, multi-thread ${wllama.isMultithread()}`,
    // Its own clocks, which leave out its messages between page and worker. Greedy, by the cheapest sampler it has.
    async generate(prompt, count) {
      const { choices, timings } = await wllama.createCompletion({
        prompt,
        max_tokens: count,
        ignore_eos: true,
        temperature: 0,
        top_k: 1,
        samplers: ["top_k"],
        cache_prompt: false,
      });
      return {
        text: choices[0].text,
        promptTokens: timings.prompt_n,
        promptMs: timings.prompt_ms,
        // The clock starts when the first token is there.
        decodedTokens: timings.predicted_n - 1,
        decodeMs: timings.predicted_ms,
      };
    },
    close: () => wllama.exit(),
  };
}
