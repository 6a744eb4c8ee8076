// node-llama-cpp behind the least of an HTTP server: POST /v1/completions with stream. Its context batches the sequences
// that are under way; requests beyond its slots wait in order. Arguments: model, slots, threads, context length.
import { createServer } from "node:http";
import { createRequire } from "node:module";
import { pathToFileURL } from "node:url";

const [modelPath, ...numbers] = process.argv.slice(2);
const [slots, threads, contextSize] = numbers.map(Number);
const rivals = createRequire(new URL("../rivals/package.json", import.meta.url));
const { getLlama } = await import(pathToFileURL(rivals.resolve("node-llama-cpp")).href);
const llama = await getLlama({ gpu: false, build: "never", maxThreads: threads, logLevel: "error" });
const model = await llama.loadModel({ modelPath });
const context = await model.createContext({
  sequences: slots,
  contextSize,
  batchSize: 512,
  threads: { ideal: threads, min: threads },
});
const free = Array.from({ length: slots }, () => context.getSequence());
const waiting = [];

const server = createServer(async (request, response) => {
  let body = "";
  for await (const chunk of request.setEncoding("utf8")) body += chunk;
  const { prompt, max_tokens } = JSON.parse(body);
  const sequence = free.pop() ?? (await new Promise((resolve) => waiting.push(resolve)));
  response.writeHead(200, { "content-type": "text/event-stream" });
  try {
    await sequence.clearHistory();
    let count = 0;
    for await (const token of sequence.evaluate(model.tokenize(prompt), { temperature: 0, yieldEogToken: true })) {
      const text = model.detokenize([token]);
      response.write(`data: ${JSON.stringify({ choices: [{ index: 0, text }] })}\n\n`);
      if (++count === max_tokens) break;
    }
    response.end(`data: ${JSON.stringify({ choices: [], usage: { completion_tokens: count } })}\n\ndata: [DONE]\n\n`);
  } catch (error) {
    response.destroy(error);
  } finally {
    const next = waiting.shift();
    if (next) next(sequence);
    else free.push(sequence);
  }
});
server.listen(0, "127.0.0.1", () => console.log(`http://127.0.0.1:${server.address().port}`));
process.on("SIGTERM", () => process.exit(0));
