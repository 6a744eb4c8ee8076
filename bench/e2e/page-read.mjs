const WORKER = `onmessage = async ({ data: { module, memory } }) => {
  const { exports } = await WebAssembly.instantiate(module, { env: { memory } });
  exports.sum(0, 1 << 20, 2000); // for the compiler
  onmessage = ({ data: [from, to, passes] }) => postMessage(exports.sum(from, to, passes));
  postMessage("ready");
}`;
const PASSES = 8;
const ROUNDS = 5;

/**
 * Runs in a page: bytes that one thread and two read per second.
 * @param {{ binary: number[], pages: number }} given a module with `sum(from, to, passes)`, and its memory's size
 */
export async function inPage({ binary, pages }) {
  const module = await WebAssembly.compile(Uint8Array.from(binary));
  const memory = new WebAssembly.Memory({ initial: pages, maximum: pages, shared: true });
  const bytes = memory.buffer.byteLength;
  new Uint8Array(memory.buffer).fill(1);
  const url = URL.createObjectURL(new Blob([WORKER], { type: "text/javascript" }));

  const rate = async (threads) => {
    const workers = Array.from({ length: threads }, () => new Worker(url));
    await Promise.all(workers.map((worker) => ask(worker, { module, memory })));
    let best = 0;
    for (let round = 0; round < ROUNDS; round++) {
      const began = performance.now();
      await Promise.all(
        workers.map((worker, t) => ask(worker, [(t * bytes) / threads, ((t + 1) * bytes) / threads, PASSES])),
      );
      best = Math.max(best, (bytes * PASSES * 1000) / (performance.now() - began));
    }
    for (const worker of workers) worker.terminate();
    return best;
  };
  return { one: await rate(1), two: await rate(2) };
}

function ask(worker, message) {
  return new Promise((done, fail) => {
    worker.onmessage = done;
    worker.onerror = fail;
    worker.postMessage(message);
  });
}
