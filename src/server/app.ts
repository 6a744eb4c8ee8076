import { type Context, Hono } from "hono";
import { cors } from "hono/cors";
import type { Model } from "../model.ts";
import { ApiError, openAiErrorBody, toApiError } from "./api-error.ts";
import { Guard, type GuardOptions } from "./guard.ts";
import { errorFields, type Log } from "./log.ts";
import { ServerMetrics } from "./metrics.ts";
import { ModelPool } from "./model-pool.ts";
import { newId } from "./new-id.ts";
import { type OpenApi, openApi } from "./openapi.ts";
import { openApiPage } from "./openapi-page.ts";
import type { PageFiles } from "./page-files.ts";
import { RequestScope } from "./request-scope.ts";
import { json, type Limits, type Route, type ServerState } from "./route.ts";
import { ROUTES } from "./routes.ts";

export interface AppOptions extends GuardOptions, Partial<Limits> {
  /** Default: nothing is logged. */
  readonly log?: Log;
  /** Aborts when requests under way must end at once. */
  readonly stop?: AbortSignal;
  /** True while the server refuses new requests and lets those under way end. */
  readonly isDraining?: () => boolean;
  /** As /openapi.json shows it. */
  readonly version?: string;
  /** The chat page, by `readPageFiles`. Default: none. */
  readonly page?: PageFiles;
}

/** The app: a function from Request to Response, `fetch`, which any server that speaks of those can mount. */
export type App = Hono<Environment>;

interface Environment {
  /** Where the server beneath is Node's: the response under way. */
  Bindings: { outgoing?: { destroy(): unknown } };
  Variables: { scope: RequestScope };
}

const MiB = 1024 * 1024;
const DEFAULT_LIMITS: Limits = { maxBodyBytes: 8 * MiB, timeoutMs: 600_000, keepAliveMs: 15_000, stallMs: 30_000 };

/** What clients may call a request: printable, and short enough for a log. */
const REQUEST_ID = /^[\x21-\x7e]{1,128}$/;

/**
 * An app that answers by the APIs of OpenAI and Anthropic with these models. Safe for loopback as it stands: it answers
 * to the names of this machine only, and to no other origin.
 */
export function createApp(models: ModelPool | Model | readonly Model[], options: AppOptions = {}): App {
  const pool = models instanceof ModelPool ? models : ModelPool.of(...[models].flat());
  const state: ServerState = {
    pool,
    metrics: new ServerMetrics(pool),
    log: options.log ?? (() => {}),
    limits: withDefaults(options),
    isDraining: options.isDraining ?? (() => false),
  };
  const guard = new Guard(options);
  const app: App = new Hono<Environment>();
  app.use(observe(state, options.stop));
  app.use(async ({ req }, next) => {
    guard.checkOrigin(req.raw);
    await next();
  });
  const { corsOrigins = [] } = options;
  if (corsOrigins.length > 0)
    app.use(
      cors({
        origin: (origin) => (guard.allowsOrigin(origin) ? origin : null),
        exposeHeaders: ["x-request-id", "request-id", "retry-after"],
        maxAge: 600,
      }),
    );
  for (const route of ROUTES) addRoute(app, route, state, guard);
  const hasKeys = Boolean(options.apiKeys?.length);
  addDocumentation(app, openApi(ROUTES, { version: options.version ?? "0", hasKeys, models: pool.names }));
  for (const [path, { body, headers }] of options.page ?? [])
    app.get(path, ({ body: send }) => send(body, 200, headers));
  app.notFound(refuseUnknown);
  app.onError((error, context) => errorResponse(error, undefined, context, state));
  return app;
}

function withDefaults(options: Partial<Limits>): Limits {
  const entries = Object.entries(DEFAULT_LIMITS).map(([name, value]) => [name, options[name as keyof Limits] ?? value]);
  return Object.fromEntries(entries) as unknown as Limits;
}

/** Gives each request its scope, its id, its line in the log and its place in the metrics. */
function observe(state: ServerState, stop: AbortSignal | undefined) {
  const running = new Set<RequestScope>();
  stop?.addEventListener("abort", () => {
    for (const scope of running) scope.cancel(stopping());
  });
  return async (context: Context<Environment>, next: () => Promise<void>): Promise<void> => {
    const { req } = context;
    const asked = req.header("x-request-id") ?? "";
    const id = REQUEST_ID.test(asked) ? asked : newId("req_");
    const outgoing = context.env?.outgoing;
    const scope = new RequestScope(id, req.raw.signal, outgoing && (() => outgoing.destroy()));
    if (stop?.aborted) scope.cancel(stopping());
    running.add(scope);
    scope.atEnd(() => running.delete(scope));
    context.set("scope", scope);
    const start = performance.now();
    let status = 500;
    state.metrics.requestStarted();
    scope.atEnd(() => {
      state.metrics.requestEnded(req.method, scope.route, status);
      const { model, error } = scope;
      const failed = error !== undefined && !scope.signal.aborted;
      state.log(failed ? "error" : "info", `${req.method} ${new URL(req.url).pathname}`, {
        request: id,
        status,
        ms: Math.round(performance.now() - start),
        ...(model !== undefined && { model }),
        ...(scope.signal.aborted && { cancelled: reasonOf(scope.signal) }),
        ...(failed && errorFields(error)),
      });
    });
    await next();
    status = context.res.status;
    context.header("x-request-id", id);
    context.header("request-id", id);
    context.header("x-content-type-options", "nosniff");
    if (!scope.streaming) scope.end();
  };
}

function stopping(): ApiError {
  return new ApiError(503, "stopping", "The server is stopping.", { retryAfterSeconds: 5 });
}

function reasonOf({ reason }: AbortSignal): string {
  return reason instanceof Error ? reason.message : String(reason);
}

function addRoute(app: App, route: Route, state: ServerState, guard: Guard): void {
  app.on(route.method, route.path, async (context) => {
    const { req } = context;
    const scope = context.get("scope");
    scope.route = route.path;
    try {
      if (!route.open) {
        await guard.checkKey(req.raw);
        if (state.isDraining()) throw stopping();
      }
      return await route.handle({ request: req.raw, scope, state });
    } catch (error) {
      return errorResponse(error, route, context, state);
    }
  });
}

function errorResponse(
  cause: unknown,
  route: Route | undefined,
  context: Context<Environment>,
  state: ServerState,
): Response {
  const scope: RequestScope | undefined = context.get("scope");
  const error = scope?.refusal ?? toApiError(cause, route?.prompt);
  if (error.status >= 500 && scope && !scope.signal.aborted) scope.error = cause;
  if (!scope) state.log("error", "a request failed before it began", errorFields(cause));
  const body = route?.errorBody?.(error, scope?.id ?? "") ?? openAiErrorBody(error);
  const { retryAfterSeconds } = error;
  return json(body, error.status, retryAfterSeconds === undefined ? {} : { "retry-after": String(retryAfterSeconds) });
}

function refuseUnknown({ req }: Context<Environment>): Response {
  const url = `${req.method} ${req.path}`.slice(0, 200);
  const allowed = ROUTES.filter(({ path }) => matches(path, req.path)).map(({ method }) => method);
  if (allowed.length === 0) return json(openAiErrorBody(new ApiError(404, "unknown_url", `Unknown URL: ${url}.`)), 404);
  const message = `Not allowed: ${url}. Allowed is ${allowed.join(", ")}.`;
  const error = new ApiError(405, "method_not_allowed", message);
  return json(openAiErrorBody(error), 405, { allow: allowed.join(", ") });
}

function matches(pattern: string, path: string): boolean {
  const [fixed, parameter] = pattern.split("/:");
  return parameter === undefined ? pattern === path : path.startsWith(`${fixed}/`) && path.length > fixed!.length + 1;
}

function addDocumentation(app: App, description: OpenApi): void {
  const page = openApiPage(description);
  app.get("/openapi.json", () => json(description));
  app.get("/docs", ({ html }) =>
    html(page, 200, { "content-security-policy": "default-src 'none'; style-src 'unsafe-inline'" }),
  );
}
