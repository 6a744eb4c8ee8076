/** One event: its data, and a name where the API names its events. */
export interface ServerEvent {
  readonly event?: string;
  /** Sent as JSON; `DONE` is sent as OpenAI's end mark. */
  readonly data: unknown;
}

export const DONE: unique symbol = Symbol("[DONE]");

export interface EventStreamOptions {
  /** After this long without an event a comment is sent, so that nobody between takes the connection for dead. */
  readonly keepAliveMs: number;
  /** A client that takes nothing for this long is given up. */
  readonly stallMs: number;
  /** Called once, when the client has gone or was given up. */
  readonly onCancel: (reason: unknown) => void;
  /** Closes the connection of a client that was given up; without it the stream ends with an error. */
  readonly closeConnection?: (() => void) | undefined;
}

const encoder = new TextEncoder();
const KEEP_ALIVE = encoder.encode(": keep-alive\n\n");

/**
 * Server-sent events from an iteration that runs only as fast as the client reads: one event is under way, and none is
 * kept beyond it.
 */
export function eventStream(
  events: AsyncIterable<ServerEvent>,
  options: EventStreamOptions,
): ReadableStream<Uint8Array> {
  const iterator = events[Symbol.asyncIterator]();
  let pending: Promise<IteratorResult<ServerEvent>> | undefined;
  let stalled: ReturnType<typeof setTimeout> | undefined;
  const cancel = (reason: unknown): void => {
    clearTimeout(stalled);
    options.onCancel(reason);
    void iterator.return?.().catch(() => {});
  };
  const giveUp = (controller: ReadableStreamDefaultController): void => {
    const reason = new DOMException("the client reads nothing", "TimeoutError");
    cancel(reason);
    if (options.closeConnection) options.closeConnection();
    else controller.error(reason);
  };
  return new ReadableStream<Uint8Array>(
    {
      async pull(controller) {
        clearTimeout(stalled);
        pending ??= iterator.next();
        const next = await orAfter(pending, options.keepAliveMs);
        if (next === undefined) controller.enqueue(KEEP_ALIVE);
        else {
          pending = undefined;
          if (next.done) return controller.close();
          controller.enqueue(encode(next.value));
        }
        stalled = setTimeout(giveUp, options.stallMs, controller);
      },
      cancel,
    },
    { highWaterMark: 1 },
  );
}

function encode({ event, data }: ServerEvent): Uint8Array {
  const text = data === DONE ? "[DONE]" : JSON.stringify(data);
  return encoder.encode(`${event === undefined ? "" : `event: ${event}\n`}data: ${text}\n\n`);
}

async function orAfter<T>(promise: Promise<T>, ms: number): Promise<T | undefined> {
  let timer: ReturnType<typeof setTimeout> | number | undefined;
  const timeout = new Promise<undefined>((resolve) => {
    timer = setTimeout(resolve, ms);
  });
  try {
    return await Promise.race([promise, timeout]);
  } finally {
    clearTimeout(timer);
  }
}
