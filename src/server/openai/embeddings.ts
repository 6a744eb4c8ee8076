import * as v from "valibot";
import type { Embedding } from "../../engine/embedding.ts";
import { ApiError } from "../api-error.ts";
import { integer, modelName, object, optional } from "../fields.ts";
import { bodyOf, json, type Route } from "../route.ts";

const MAX_INPUTS = 2048;
/** So that one request neither fills the queue nor holds it up. */
const INPUTS_AT_ONCE = 32;

const tokenIds = v.pipe(v.array(integer(0)), v.minLength(1));
const text = v.pipe(v.string(), v.nonEmpty());
const requestSchema = object({
  model: modelName,
  input: v.union([
    text,
    tokenIds,
    v.pipe(v.array(text), v.minLength(1), v.maxLength(MAX_INPUTS)),
    v.pipe(v.array(tokenIds), v.minLength(1), v.maxLength(MAX_INPUTS)),
  ]),
  encoding_format: optional(v.picklist(["float", "base64"])),
  dimensions: optional(integer(1)),
  user: optional(v.pipe(v.string(), v.maxLength(512))),
});

const responseSchema = v.object({
  object: v.literal("list"),
  data: v.array(
    v.object({
      object: v.literal("embedding"),
      index: v.number(),
      embedding: v.union([v.array(v.number()), v.string()]),
    }),
  ),
  model: v.string(),
  usage: v.object({ prompt_tokens: v.number(), total_tokens: v.number() }),
});

export const embeddings: Route = {
  method: "POST",
  path: "/v1/embeddings",
  tag: "OpenAI",
  summary: "Mean of the last hidden states of each input, of length 1.",
  body: requestSchema,
  response: responseSchema,
  prompt: "input",
  async handle(call) {
    const { scope, state } = call;
    const body = await bodyOf(call, requestSchema);
    const model = await scope.lease(state.pool, body.model);
    const { input } = body;
    const inputs = typeof input === "string" ? [input] : typeof input[0] === "number" ? [input as number[]] : input;
    const embedded: Embedding[] = [];
    for (let first = 0; first < inputs.length; first += INPUTS_AT_ONCE) {
      const part = inputs.slice(first, first + INPUTS_AT_ONCE) as (string | number[])[];
      const { timeoutMs } = state.limits;
      embedded.push(
        ...(await model.embed(part, { signal: scope.signal, timeoutMs, ...(body.user && { user: body.user }) })),
      );
    }
    const width = embedded[0]!.vector.length;
    if (body.dimensions && body.dimensions !== width)
      throw new ApiError(
        400,
        "invalid_value",
        `This model's embeddings have ${width} dimensions, and no other number.`,
        {
          param: "dimensions",
        },
      );
    const tokens = embedded.reduce((sum, { promptTokens }) => sum + promptTokens, 0);
    state.metrics.promptRead(body.model, tokens);
    return json({
      object: "list",
      data: embedded.map(({ vector }, index) => {
        const unit = normalised(vector);
        const embedding = body.encoding_format === "base64" ? base64(unit) : Array.from(unit);
        return { object: "embedding", index, embedding };
      }),
      model: body.model,
      usage: { prompt_tokens: tokens, total_tokens: tokens },
    } satisfies v.InferOutput<typeof responseSchema>);
  },
};

/** OpenAI's embeddings have length 1; clients compare them by their dot product. */
function normalised(vector: Float32Array): Float32Array {
  const length = Math.sqrt(vector.reduce((sum, x) => sum + x * x, 0));
  return length > 0 ? vector.map((x) => x / length) : vector;
}

/** Little-endian f32, as OpenAI's clients read it. */
function base64(vector: Float32Array): string {
  const bytes = new DataView(new ArrayBuffer(vector.length * 4));
  for (const [i, x] of vector.entries()) bytes.setFloat32(i * 4, x, true);
  let binary = "";
  for (const byte of new Uint8Array(bytes.buffer)) binary += String.fromCharCode(byte);
  return btoa(binary);
}
