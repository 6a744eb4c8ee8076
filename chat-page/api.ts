/** What the page asks of its server: the public API and nothing else. */

export interface Message {
  readonly role: "system" | "user" | "assistant";
  readonly content: string;
}

export interface TokenOdds {
  readonly token: string;
  readonly logprob: number;
  readonly top_logprobs?: readonly { readonly token: string; readonly logprob: number }[];
}

export interface ChatPiece {
  readonly text?: string;
  readonly reasoning?: string;
  readonly tokens?: readonly TokenOdds[];
  readonly finishReason?: string;
  readonly usage?: { readonly prompt_tokens: number; readonly completion_tokens: number };
}

export class ApiError extends Error {
  readonly status: number;
  constructor(status: number, message: string) {
    super(message);
    this.status = status;
  }
}

let key: string | undefined = sessionStorage.getItem("key") ?? undefined;

/** The key for this tab; never written to disk. */
export function setKey(value: string): void {
  key = value || undefined;
  if (key) sessionStorage.setItem("key", key);
  else sessionStorage.removeItem("key");
}

async function request(path: string, init: RequestInit = {}): Promise<Response> {
  const headers = new Headers(init.headers);
  if (key) headers.set("authorization", `Bearer ${key}`);
  const response = await fetch(path, { ...init, headers }).catch((error: unknown) => {
    if (init.signal?.aborted) throw error;
    throw new ApiError(0, "The server cannot be reached.");
  });
  if (response.ok) return response;
  const body = (await response.json().catch(() => undefined)) as { error?: { message?: string } } | undefined;
  throw new ApiError(response.status, body?.error?.message ?? `The server answered ${response.status}.`);
}

export async function models(): Promise<string[]> {
  const { data } = (await (await request("v1/models")).json()) as { data: { id: string }[] };
  return data.map(({ id }) => id);
}

/** The server's gauges and counters by name; labels are summed over. */
export async function metrics(): Promise<Map<string, number>> {
  const sums = new Map<string, number>();
  for (const line of (await (await request("metrics")).text()).split("\n")) {
    const [, name, value] = /^([\w:]+)(?:\{[^}]*\})? (\S+)/.exec(line) ?? [];
    if (name && value) sums.set(name, (sums.get(name) ?? 0) + Number(value));
  }
  return sums;
}

/** The answer to a conversation, as it comes. */
export async function* chat(body: object, signal: AbortSignal): AsyncGenerator<ChatPiece> {
  const response = await request("v1/chat/completions", {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({ ...body, stream: true, stream_options: { include_usage: true } }),
    signal,
  });
  for await (const data of events(response)) {
    if (data === "[DONE]") return;
    const chunk = JSON.parse(data);
    if (chunk.error) throw new ApiError(response.status, chunk.error.message);
    const choice = chunk.choices?.[0];
    yield {
      text: choice?.delta?.content ?? undefined,
      reasoning: choice?.delta?.reasoning_content ?? undefined,
      tokens: choice?.logprobs?.content ?? undefined,
      finishReason: choice?.finish_reason ?? undefined,
      usage: chunk.usage ?? undefined,
    };
  }
}

/** The data of server-sent events. */
async function* events(response: Response): AsyncGenerator<string> {
  const reader = response.body!.pipeThrough(new TextDecoderStream()).getReader();
  let rest = "";
  for (;;) {
    const { done, value } = await reader.read();
    if (done) return;
    const blocks = (rest + value).split(/\r?\n\r?\n/);
    rest = blocks.pop()!;
    for (const block of blocks) {
      const data = block
        .split(/\r?\n/)
        .flatMap((line) => (line.startsWith("data:") ? [line.slice(5).trimStart()] : []));
      if (data.length > 0) yield data.join("\n");
    }
  }
}
