import * as v from "valibot";
import { ApiError } from "../api-error.ts";
import { modelName, object } from "../fields.ts";
import type { ModelStatus } from "../model-pool.ts";
import { bodyOf, json, type Route } from "../route.ts";

const modelSchema = v.object({
  id: v.string(),
  object: v.literal("model"),
  created: v.number(),
  owned_by: v.string(),
  /** Ours: */
  state: v.picklist(["unloaded", "loading", "loaded", "unloading"]),
  max_model_len: v.nullable(v.number()),
});
type ModelBody = v.InferOutput<typeof modelSchema>;

function modelBody({ name, created, state, model }: ModelStatus): ModelBody {
  const max_model_len = model?.info.contextLength ?? null;
  return { id: name, object: "model", created, owned_by: "halfbyte", state, max_model_len };
}

export const listModels: Route = {
  method: "GET",
  path: "/v1/models",
  tag: "OpenAI",
  summary: "Lists the models that requests may name.",
  response: v.object({ object: v.literal("list"), data: v.array(modelSchema) }),
  handle: ({ state }) => json({ object: "list", data: state.pool.list().map(modelBody) }),
};

export const getModel: Route = {
  method: "GET",
  path: "/v1/models/:model{.+}",
  tag: "OpenAI",
  summary: "Shows one model.",
  response: modelSchema,
  errors: [404],
  handle({ request, state }) {
    const name = decodeName(new URL(request.url).pathname.slice("/v1/models/".length));
    const status = state.pool.list().find((each) => each.name === name);
    if (!status)
      throw new ApiError(404, "model_not_found", `The model '${name}' does not exist here.`, { param: "model" });
    return json(modelBody(status));
  },
};

const nameSchema = object({ model: modelName });
const stateSchema = v.object({ model: v.string(), state: v.picklist(["unloaded", "loading", "loaded", "unloading"]) });

function changing(path: string, summary: string, change: "load" | "unload"): Route {
  return {
    method: "POST",
    path,
    tag: "Halfbyte",
    summary,
    body: nameSchema,
    response: stateSchema,
    async handle(call) {
      const { model } = await bodyOf(call, nameSchema);
      const { pool } = call.state;
      await pool[change](model, call.scope.signal);
      return json({ model, state: pool.list().find(({ name }) => name === model)!.state });
    },
  };
}

export const loadModelRoute: Route = changing(
  "/models/load",
  "Loads a model, so that its first request need not wait.",
  "load",
);
export const unloadModelRoute: Route = changing(
  "/models/unload",
  "Unloads a model when its requests have ended.",
  "unload",
);

function decodeName(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}
