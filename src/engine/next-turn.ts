/** Lets timers, signals and sockets have their turn; settles before any of the next round. */
export const nextTurn: () => Promise<void> =
  typeof setImmediate === "function" ? () => new Promise((resolve) => setImmediate(resolve)) : messageTurn();

/** A message is the shortest way through a page's event loop: timers are held to 4 ms. */
function messageTurn(): () => Promise<void> {
  const { port1, port2 } = new MessageChannel();
  const waiting: (() => void)[] = [];
  port1.onmessage = () => waiting.shift()?.();
  return () =>
    new Promise((resolve) => {
      waiting.push(resolve);
      port2.postMessage(0);
    });
}
