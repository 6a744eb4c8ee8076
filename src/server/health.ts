import * as v from "valibot";
import { ApiError } from "./api-error.ts";
import { json, type Route } from "./route.ts";

export const health: Route = {
  method: "GET",
  path: "/health",
  tag: "Operation",
  summary: "The server lives.",
  response: v.object({ status: v.literal("ok") }),
  open: true,
  handle: () => json({ status: "ok" }),
};

export const ready: Route = {
  method: "GET",
  path: "/ready",
  tag: "Operation",
  summary: "The server takes requests: it is not stopping, and no model is being loaded that was not before.",
  response: v.object({ status: v.literal("ready") }),
  errors: [503],
  open: true,
  handle({ state }) {
    if (state.isDraining()) throw new ApiError(503, "stopping", "The server is stopping.");
    if (state.pool.list().every(({ state }) => state === "loading"))
      throw new ApiError(503, "loading", "The models are being loaded.");
    return json({ status: "ready" });
  },
};

export const metrics: Route = {
  method: "GET",
  path: "/metrics",
  tag: "Operation",
  summary: "Metrics in the text format of Prometheus.",
  response: "text/plain",
  handle: ({ state }) =>
    new Response(state.metrics.render(), { headers: { "content-type": "text/plain; version=0.0.4; charset=utf-8" } }),
};
