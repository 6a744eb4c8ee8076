import { toJsonSchema } from "@valibot/to-json-schema";
import type * as v from "valibot";
import type { Route } from "./route.ts";

const EVENT = {
  type: "object",
  required: ["data"],
  properties: { event: { type: "string" }, data: { type: "string" } },
};

/** What /openapi.json says, made of the schemas by which requests are checked. */
export interface OpenApi {
  readonly openapi: string;
  readonly info: { readonly title: string; readonly version: string; readonly description: string };
  readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>;
  readonly components: Readonly<Record<string, unknown>>;
}

export interface Operation {
  readonly operationId: string;
  readonly tags: readonly string[];
  readonly summary: string;
  readonly requestBody?: { readonly required: true; readonly content: Content };
  readonly responses: Readonly<Record<string, { readonly description: string; readonly content?: Content }>>;
  readonly [key: string]: unknown;
}

type Content = Readonly<Record<string, { readonly schema: object }>>;

const STATUS_TEXT: Readonly<Record<number, string>> = {
  400: "The request is not one that can be answered.",
  401: "An API key is missing or wrong.",
  403: "This host or origin may not call.",
  404: "The model does not exist.",
  413: "The body is too large.",
  415: "The body is not JSON.",
  429: "The queue is full: Retry-After says when to come again.",
  500: "The server had an error.",
  503: "The server is stopping, or has no memory, or the model could not be loaded.",
  504: "The answer took too long.",
};

export interface OpenApiOptions {
  readonly version: string;
  readonly hasKeys: boolean;
  /** Names of the models: what requests may have as "model". */
  readonly models: readonly string[];
}

export function openApi(routes: readonly Route[], options: OpenApiOptions): OpenApi {
  const paths: Record<string, Record<string, Operation>> = {};
  for (const route of routes) {
    const path = route.path.replace(/:(\w+)(\{[^}]*\})?/g, "{$1}");
    paths[path] = { ...paths[path], [route.method.toLowerCase()]: operation(route, path, options) };
  }
  return {
    openapi: "3.1.0",
    info: {
      title: "Halfbyte",
      version: options.version,
      description: "4-bit language models on ordinary CPUs, by the APIs of OpenAI and Anthropic.",
    },
    paths,
    components: {
      schemas: { Error: ERROR_SCHEMA },
      ...(options.hasKeys && { securitySchemes: { key: { type: "http", scheme: "bearer" } } }),
    },
  };
}

function operation(route: Route, path: string, { hasKeys, models }: OpenApiOptions): Operation {
  const { method, tag, summary, body, response, streams, open } = route;
  const errors = new Set([
    403,
    500,
    ...(hasKeys && !open ? [401] : []),
    ...(body ? [400, 404, 413, 415, 429, 503, 504] : []),
    ...(route.errors ?? []),
  ]);
  const error = { "application/json": { schema: { $ref: "#/components/schemas/Error" } } };
  const parameters = [...path.matchAll(/\{(\w+)\}/g)].map(([, name]) => ({
    name,
    in: "path",
    required: true,
    schema: name === "model" ? { enum: models } : { type: "string" },
  }));
  const content: Content =
    typeof response === "string"
      ? { [response]: { schema: { type: "string" } } }
      : {
          "application/json": { schema: jsonSchema(response) },
          // Of each event, as those who check streams read it.
          ...(streams && { "text/event-stream": { schema: EVENT } }),
        };
  return {
    operationId: `${method.toLowerCase()}${path.replace(/[^a-zA-Z]+(\w)?/g, (_, letter = "") => letter.toUpperCase())}`,
    tags: [tag],
    summary,
    ...(parameters.length > 0 && { parameters }),
    ...(body && {
      requestBody: { required: true, content: { "application/json": { schema: requestSchema(body, models) } } },
    }),
    responses: {
      200: { description: "Done.", content },
      ...Object.fromEntries(
        [...errors]
          .sort()
          .map((status) => [status, { description: STATUS_TEXT[status] ?? "Refused.", content: error }]),
      ),
    },
    ...(hasKeys && !open && { security: [{ key: [] }] }),
  };
}

/** The schema of a body, which says what models there are. */
function requestSchema(schema: v.GenericSchema, models: readonly string[]): object {
  const body = jsonSchema(schema) as Schema;
  const withModels = (each: Schema): Schema =>
    each.properties?.model ? { ...each, properties: { ...each.properties, model: { enum: models } } } : each;
  return body.anyOf ? { anyOf: body.anyOf.map(withModels) } : withModels(body);
}

interface Schema {
  readonly properties?: Readonly<Record<string, unknown>>;
  readonly anyOf?: readonly Schema[];
}

/** A schema in the dialect of OpenAPI 3.1. */
function jsonSchema(schema: v.GenericSchema): object {
  const { $schema: _, ...rest } = toJsonSchema(schema, {
    typeMode: "input",
    target: "draft-2020-12",
    errorMode: "throw",
    ignoreActions: ["transform"],
  });
  return rest;
}

const ERROR_SCHEMA = {
  type: "object",
  properties: {
    error: {
      type: "object",
      properties: {
        message: { type: "string" },
        type: { type: "string" },
        param: { type: ["string", "null"] },
        code: { type: "string" },
      },
      required: ["message", "type", "code"],
    },
  },
  required: ["error"],
};
