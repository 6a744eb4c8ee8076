import type { Model } from "../model.ts";
import { ApiError } from "./api-error.ts";
import type { ModelPool } from "./model-pool.ts";

/** The status of a request whose client went before the answer, as nginx has it. */
export const CLIENT_GONE = 499;

/** What belongs to one request until its response has been sent to the end: its id, its model, and how it is cancelled. */
export class RequestScope {
  readonly id: string;
  /** Aborts when the client has gone, when it reads nothing, and when the server stops at once. For a few listeners. */
  readonly signal: AbortSignal;
  /** The model that answers, for the log. */
  model: string | undefined;
  /** The path as the app knows it, for metrics: few, whatever clients ask for. */
  route = "other";
  /** The response goes on after the handler has returned. */
  streaming = false;
  /** What went wrong after the response had begun. */
  error: unknown;
  /** Closes the client's connection, where the server beneath can. */
  readonly closeConnection: (() => void) | undefined;
  readonly #controller = new AbortController();
  readonly #branches: AbortController[] = [];
  readonly #atEnd: (() => void)[] = [];
  #ended = false;

  constructor(id: string, client: AbortSignal, closeConnection?: () => void) {
    this.id = id;
    this.closeConnection = closeConnection;
    this.signal = this.#controller.signal;
    const leave = (): void => this.cancel(client.reason);
    if (client.aborted) leave();
    client.addEventListener("abort", leave);
    this.atEnd(() => client.removeEventListener("abort", leave));
  }

  /** A loaded model, held until the request ends. Throws as `ModelPool.acquire` does. */
  async lease(pool: ModelPool, name: string): Promise<Model> {
    const lease = await pool.acquire(name, this.signal);
    this.atEnd(() => lease.release());
    this.model = name;
    return lease.model;
  }

  /** A signal that aborts with the request's, for one generation: a prompt may ask for hundreds, and Node warns of many listeners. */
  branch(): AbortSignal {
    const branch = new AbortController();
    if (this.signal.aborted) branch.abort(this.signal.reason);
    else this.#branches.push(branch);
    return branch.signal;
  }

  cancel(reason: unknown): void {
    this.#controller.abort(reason ?? new DOMException("the client has gone", "AbortError"));
    for (const branch of this.#branches.splice(0)) branch.abort(this.signal.reason);
  }

  /** What a request that was cancelled is answered: by the server's own reason, or that the client has gone. */
  get refusal(): ApiError | undefined {
    if (!this.signal.aborted) return undefined;
    const { reason } = this.signal;
    return reason instanceof ApiError
      ? reason
      : new ApiError(CLIENT_GONE, "client_closed_request", "The client has gone.");
  }

  atEnd(work: () => void): void {
    if (this.#ended) work();
    else this.#atEnd.push(work);
  }

  end(): void {
    if (this.#ended) return;
    this.#ended = true;
    for (const work of this.#atEnd.reverse()) work();
  }
}
