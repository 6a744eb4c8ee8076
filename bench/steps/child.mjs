// An arm in a process of its own: opens the model named in its arguments, then times what its parent asks for.
const [arm, options] = process.argv.slice(2);
const { open } = await import(`./${arm}.mjs`);
const { decode, prefill, fill, close, ...facts } = await open(JSON.parse(options));
const calls = { decode, prefill, fill, close };
process.on("message", async ({ call, args }) => {
  try {
    process.send({ result: await calls[call](...args) });
    if (call === "close") process.disconnect();
  } catch (error) {
    process.send({ error: error instanceof Error ? error.stack : String(error) });
  }
});
process.send({ result: facts });
