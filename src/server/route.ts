import type * as v from "valibot";
import type { AnswerContext } from "../chat/answer.ts";
import { type ApiError, openAiErrorBody, toApiError } from "./api-error.ts";
import type { Log } from "./log.ts";
import type { ServerMetrics } from "./metrics.ts";
import type { ModelPool } from "./model-pool.ts";
import { readJson } from "./read-json.ts";
import { CLIENT_GONE, type RequestScope } from "./request-scope.ts";
import { eventStream, type ServerEvent } from "./sse.ts";
import { validate } from "./validate.ts";

/** What all requests share. */
export interface ServerState {
  readonly pool: ModelPool;
  readonly metrics: ServerMetrics;
  readonly log: Log;
  readonly limits: Limits;
  /** New requests are refused, those under way end. */
  readonly isDraining: () => boolean;
}

export interface Limits {
  /** Of a request's body. Default 8 MiB. */
  readonly maxBodyBytes: number;
  /** Of a generation, from its place in the queue to its last token. Default 10 minutes. */
  readonly timeoutMs: number;
  /** Silence after which a stream sends a comment. Default 15 s. */
  readonly keepAliveMs: number;
  /** A client that reads nothing for this long is given up. Default 30 s. */
  readonly stallMs: number;
}

export interface Call {
  readonly request: Request;
  readonly scope: RequestScope;
  readonly state: ServerState;
}

/** What the answers to a request are started with. */
export function answerContext({ scope, state }: Call): AnswerContext {
  return {
    signal: () => scope.branch(),
    timeoutMs: state.limits.timeoutMs,
    watch: (events, result, promptTokens) => state.metrics.track(scope.model ?? "", events, result, promptTokens),
  };
}

/** The shape of errors: one for OpenAI's paths and our own, one for Anthropic's. */
export type ErrorBody = (error: ApiError, requestId: string) => object;

/** An operation: what the app does, and what /openapi.json says of it. */
export interface Route {
  readonly method: "GET" | "POST";
  readonly path: string;
  readonly tag: string;
  readonly summary: string;
  readonly body?: v.GenericSchema;
  /** Of the response of status 200; a string is the content type of one that is not JSON. */
  readonly response: v.GenericSchema | string;
  /** The response may be a stream of events. */
  readonly streams?: boolean;
  /** Statuses of errors, besides those that any operation of its kind has. */
  readonly errors?: readonly number[];
  /** Needs no API key. */
  readonly open?: boolean;
  readonly errorBody?: ErrorBody;
  /** The field that has the prompt; default "messages". */
  readonly prompt?: string;
  readonly handle: (call: Call) => Promise<Response> | Response;
}

/** The checked body of a call. */
export async function bodyOf<T>({ request, state }: Call, schema: v.GenericSchema<unknown, T>): Promise<T> {
  return validate(schema, await readJson(request, state.limits.maxBodyBytes));
}

export function json(value: unknown, status = 200, headers: Record<string, string> = {}): Response {
  return new Response(JSON.stringify(value), { status, headers: { "content-type": "application/json", ...headers } });
}

type ErrorEvent = (error: ApiError) => ServerEvent;

/** A response of server-sent events. An error on the way is the last of them, made by `errorEvent`. */
export function eventResponse(
  { scope, state }: Call,
  events: AsyncIterable<ServerEvent>,
  errorEvent: ErrorEvent = (error) => ({ data: openAiErrorBody(error) }),
): Response {
  scope.streaming = true;
  const onCancel = (reason: unknown): void => {
    scope.cancel(reason);
    scope.end();
  };
  const { closeConnection } = scope;
  const stream = eventStream(ending(events, scope, errorEvent), { ...state.limits, onCancel, closeConnection });
  return new Response(stream, {
    headers: { "content-type": "text/event-stream; charset=utf-8", "cache-control": "no-cache" },
  });
}

async function* ending(
  events: AsyncIterable<ServerEvent>,
  scope: RequestScope,
  errorEvent: ErrorEvent,
): AsyncGenerator<ServerEvent, void> {
  try {
    yield* events;
  } catch (error) {
    scope.error = error;
    const refusal = scope.refusal ?? toApiError(error);
    // Nobody reads it where the client has gone.
    if (refusal.status !== CLIENT_GONE) yield errorEvent(refusal);
  } finally {
    scope.end();
  }
}
