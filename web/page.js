import { loadModel } from "halfbyte";

const element = (id) => document.getElementById(id);
const status = (text) => {
  element("status").textContent = text;
};
const settings = new URLSearchParams(location.search);

try {
  const threads = settings.get("threads");
  const model = await loadModel(settings.get("model") ?? "/models/smollm2.gguf", {
    ...(threads && { threads: Number(threads) }),
    onProgress: ({ done, total }) => status(`Loading… ${Math.round((100 * done) / total)} %`),
  });
  const { executor, name } = model.info;
  status(`${name} on ${executor.name} ${executor.kernel}, ${executor.threads} threads. Ask away.`);
  element("ask").disabled = false;

  element("form").addEventListener("submit", async (event) => {
    event.preventDefault();
    const stop = new AbortController();
    element("stop").onclick = () => stop.abort();
    element("ask").disabled = true;
    element("stop").disabled = false;
    element("answer").textContent = "";
    try {
      const messages = [{ role: "user", content: element("question").value }];
      const answer = model.chat(messages, { maxTokens: Number(settings.get("maxTokens") ?? 256), signal: stop.signal });
      for await (const text of answer) element("answer").append(text);
      const { usage, timings } = await answer.result;
      status(
        `${usage.completionTokens} tokens, first after ${Math.round(timings.firstTokenMs)} ms, ` +
          `then ${timings.decodeTokensPerSecond.toFixed(1)} tokens/s (${executor.kernel}, ${executor.threads} threads)`,
      );
    } catch (error) {
      status(stop.signal.aborted ? "Stopped." : String(error));
    }
    element("ask").disabled = false;
    element("stop").disabled = true;
  });
} catch (error) {
  status(String(error));
}
