/** One token or more that came to a client. */
interface Arrival {
  readonly at: number;
  readonly tokens: number;
}

interface Exchange {
  readonly sent: number;
  readonly arrivals: readonly Arrival[];
  readonly complete: boolean;
}

export interface LoadFigures {
  readonly seconds: number;
  readonly requests: number;
  /** Answers that broke off, were refused or are short. */
  readonly lost: number;
  readonly tokensPerSecond: number;
  readonly firstTokenMs: readonly number[];
  readonly betweenTokensMs: readonly number[];
}

export interface LoadOptions {
  readonly url: string;
  readonly model: string;
  readonly streams: number;
  readonly seconds: number;
  readonly maxTokens: number;
}

/**
 * Keeps `streams` streaming requests under way for a time, each client sending its next when its last has ended; then
 * waits for those under way. Tokens count where they came within the time.
 */
export async function load(options: LoadOptions): Promise<LoadFigures> {
  const began = performance.now();
  const end = began + options.seconds * 1000;
  const exchanges: Exchange[] = [];
  const client = async (number: number): Promise<void> => {
    for (let turn = 0; performance.now() < end; turn++) exchanges.push(await ask(options, `${number}.${turn}`));
  };
  await Promise.all(Array.from({ length: options.streams }, (_, number) => client(number)));
  const arrivals = exchanges.flatMap((each) => each.arrivals).filter(({ at }) => at <= end);
  const tokens = arrivals.reduce((sum, each) => sum + each.tokens, 0);
  return {
    seconds: options.seconds,
    requests: exchanges.length,
    lost: exchanges.filter(({ complete }) => !complete).length,
    tokensPerSecond: tokens / options.seconds,
    firstTokenMs: exchanges.flatMap(({ sent, arrivals }) => (arrivals[0] ? [arrivals[0].at - sent] : [])),
    betweenTokensMs: exchanges.flatMap(({ arrivals }) => arrivals.slice(1).map(({ at }, i) => at - arrivals[i]!.at)),
  };
}

/** Each prompt has a beginning of its own: no cache of prefixes helps anyone. */
function promptOf(name: string): string {
  const days = ["cold", "warm", "rainy", "windy", "bright", "foggy"];
  const day = days[name.length % days.length];
  return `Letter ${name}. It was a ${day} morning when the old ship left the harbour of the small town, and the people on
the quay waved for a long time. The captain looked at the sea, thought of the storm of the week before, and said to his crew:`;
}

async function ask({ url, model, maxTokens }: LoadOptions, name: string): Promise<Exchange> {
  const sent = performance.now();
  const times: number[] = [];
  let tokens: number | undefined;
  let done = false;
  try {
    const response = await fetch(`${url}/v1/completions`, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify({
        model,
        prompt: promptOf(name),
        max_tokens: maxTokens,
        temperature: 0,
        ignore_eos: true,
        stream: true,
        stream_options: { include_usage: true },
      }),
    });
    if (!response.ok || !response.body) return { sent, arrivals: [], complete: false };
    for await (const data of eventData(response.body)) {
      if (data === "[DONE]") {
        done = true;
        break;
      }
      const { choices, usage } = JSON.parse(data) as Chunk;
      tokens = usage?.completion_tokens ?? tokens;
      if (choices[0]?.text) times.push(performance.now());
    }
  } catch {
    // Counted as lost below.
  }
  // Several tokens may come at once, guessed ahead or parts of one character.
  const each = (tokens ?? 0) / Math.max(1, times.length);
  return { sent, arrivals: times.map((at) => ({ at, tokens: each })), complete: done && tokens === maxTokens };
}

interface Chunk {
  readonly choices: readonly { readonly text: string }[];
  readonly usage?: { readonly completion_tokens: number } | null;
}

async function* eventData(body: ReadableStream<Uint8Array>): AsyncGenerator<string, void> {
  const decoder = new TextDecoder();
  let text = "";
  for await (const chunk of body) {
    text += decoder.decode(chunk, { stream: true });
    const lines = text.split("\n");
    text = lines.pop()!;
    for (const line of lines) if (line.startsWith("data: ")) yield line.slice(6).trim();
  }
}
