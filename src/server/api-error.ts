import { HalfbyteError } from "../errors.ts";

export type ApiErrorType =
  | "invalid_request_error"
  | "authentication_error"
  | "permission_error"
  | "not_found_error"
  | "rate_limit_error"
  | "server_error";

export interface ApiErrorDetails {
  readonly type?: ApiErrorType;
  /** The field that is wrong, as `messages[0].content`. */
  readonly param?: string | undefined;
  readonly retryAfterSeconds?: number;
  readonly cause?: unknown;
}

/** A refusal as HTTP says it. `code` is stable; docs/server.md lists them all. */
export class ApiError extends Error {
  override readonly name: string = "ApiError";
  readonly status: number;
  readonly code: string;
  readonly type: ApiErrorType;
  readonly param: string | undefined;
  readonly retryAfterSeconds: number | undefined;

  constructor(status: number, code: string, message: string, details: ApiErrorDetails = {}) {
    super(message, details.cause === undefined ? undefined : { cause: details.cause });
    this.status = status;
    this.code = code;
    this.type = details.type ?? TYPE_OF_STATUS[status] ?? (status < 500 ? "invalid_request_error" : "server_error");
    this.param = details.param;
    this.retryAfterSeconds = details.retryAfterSeconds;
  }
}

const TYPE_OF_STATUS: Readonly<Record<number, ApiErrorType>> = {
  401: "authentication_error",
  403: "permission_error",
  429: "rate_limit_error",
};

/** Seconds after which a client that found the queue full may ask again, where the engine names no time. */
const RETRY_AFTER_SECONDS = 1;

/** What a client may know of an error. Messages of those not meant for it stay in the log. `prompt` names the field that has it. */
export function toApiError(error: unknown, prompt = "messages"): ApiError {
  if (error instanceof ApiError) return error;
  if (!(error instanceof HalfbyteError))
    return new ApiError(500, "internal_error", "The server had an error. Its log has more under the request's id.", {
      cause: error,
    });
  const refuse = (status: number, code: string, details: ApiErrorDetails = {}): ApiError =>
    new ApiError(status, code, sentence(error), { cause: error, ...details });
  switch (error.code) {
    case "context_length_exceeded":
      return refuse(400, "context_length_exceeded", { param: prompt });
    case "ERR_ARGUMENT":
      return refuse(400, "invalid_value", {
        param: error.place?.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`),
      });
    case "ERR_GRAMMAR":
      return grammarRefusal(error, "response_format");
    case "ERR_LIMIT":
      return refuse(400, "invalid_value", { param: error.place });
    case "ERR_UNSUPPORTED":
      return refuse(400, "unsupported_value", { param: error.place });
    case "ERR_CHAT_TEMPLATE":
      return refuse(400, "chat_template_refused", { param: prompt });
    case "ERR_NO_CHAT_TEMPLATE":
      return refuse(400, "no_chat_template", { param: "model" });
    case "ERR_QUEUE_FULL":
      return refuse(429, "queue_full", { retryAfterSeconds: retryAfter(error) });
    case "ERR_DEADLINE":
      return refuse(504, "deadline_exceeded");
    case "ERR_MEMORY":
      return new ApiError(503, "out_of_memory", "The server has no memory left for this request; try again later.", {
        cause: error,
        retryAfterSeconds: RETRY_AFTER_SECONDS,
      });
    case "ERR_DISPOSED":
      return new ApiError(503, "model_unloaded", "The model was unloaded; try again.", {
        cause: error,
        retryAfterSeconds: RETRY_AFTER_SECONDS,
      });
    default:
      return new ApiError(500, "internal_error", "The server had an error. Its log has more under the request's id.", {
        cause: error,
      });
  }
}

/** Throws ERR_GRAMMAR of the format in `field` as a refusal that names it, and any other error as it is. */
export function refuseFormat(field: string): (error: unknown) => never {
  return (error) => {
    throw error instanceof HalfbyteError && error.code === "ERR_GRAMMAR" ? grammarRefusal(error, field) : error;
  };
}

function grammarRefusal(cause: HalfbyteError, field: string): ApiError {
  const param = cause.place?.startsWith("tools[") ? cause.place : field;
  return new ApiError(400, "invalid_schema", cause.message, { cause, param });
}

/** The error's parts without its place, which goes into `param`: a place may be a path on the server's disk. */
function sentence({ message, place }: HalfbyteError): string {
  return place && message.startsWith(`${place}: `) ? message.slice(place.length + 2) : message;
}

function retryAfter({ retryAfterMs }: HalfbyteError): number {
  return retryAfterMs === undefined ? RETRY_AFTER_SECONDS : Math.max(1, Math.ceil(retryAfterMs / 1000));
}

export interface OpenAiErrorBody {
  readonly error: {
    readonly message: string;
    readonly type: string;
    readonly param: string | null;
    readonly code: string;
  };
}

export function openAiErrorBody({ message, type, param, code }: ApiError): OpenAiErrorBody {
  return { error: { message, type, param: param ?? null, code } };
}

/** The shape of Anthropic's API, whose types follow the status; `code` is ours, since a message is no thing to switch on. */
export function anthropicErrorBody(error: ApiError, requestId: string): object {
  const type = ANTHROPIC_TYPES[error.status] ?? (error.status < 500 ? "invalid_request_error" : "api_error");
  return { type: "error", error: { type, message: error.message, code: error.code }, request_id: requestId };
}

const ANTHROPIC_TYPES: Readonly<Record<number, string>> = {
  401: "authentication_error",
  403: "permission_error",
  404: "not_found_error",
  413: "request_too_large",
  429: "rate_limit_error",
  503: "overloaded_error",
  504: "timeout_error",
};
