import * as v from "valibot";
import { renderWithTools } from "../chat/dialect.ts";
import { integer, jsonObject, modelName, object, optional } from "./fields.ts";
import { chatMessagesSchema, chatToolsSchema } from "./openai/chat-request.ts";
import { readJson } from "./read-json.ts";
import { bodyOf, json, type Route } from "./route.ts";
import { validate } from "./validate.ts";

const textSchema = object({
  model: modelName,
  prompt: v.string(),
  /** The beginning token, where the model has one. */
  add_special_tokens: optional(v.boolean()),
  return_token_strs: optional(v.boolean()),
});
const chatSchema = object({
  model: modelName,
  messages: chatMessagesSchema,
  add_generation_prompt: optional(v.boolean()),
  tools: optional(chatToolsSchema),
  chat_template_kwargs: optional(jsonObject),
  return_token_strs: optional(v.boolean()),
});
const tokenizeSchema = v.union([textSchema, chatSchema]);

/** As vLLM has it. */
export const tokenize: Route = {
  method: "POST",
  path: "/tokenize",
  tag: "Halfbyte",
  summary: "Token ids of a text, or of a conversation as the model would see it.",
  body: tokenizeSchema,
  response: v.object({
    count: v.number(),
    max_model_len: v.number(),
    tokens: v.array(v.number()),
    token_strs: v.nullable(v.array(v.string())),
  }),
  async handle(call) {
    const raw = await readJson(call.request, call.state.limits.maxBodyBytes);
    const isChat = typeof raw === "object" && raw !== null && "messages" in raw;
    const body = validate<v.InferOutput<typeof tokenizeSchema>>(isChat ? chatSchema : textSchema, raw);
    const model = await call.scope.lease(call.state.pool, body.model);
    const { tokenizer } = model;
    const ids =
      "prompt" in body
        ? tokenizer.encode(body.prompt, body.add_special_tokens === false ? { addBos: false } : {})
        : model.encodeChat(
            renderWithTools(model, body.messages, body.tools ?? [], {
              templateVariables: {
                add_generation_prompt: body.add_generation_prompt ?? true,
                ...body.chat_template_kwargs,
              },
            }),
          );
    return json({
      count: ids.length,
      max_model_len: model.info.contextLength,
      tokens: Array.from(ids),
      token_strs: body.return_token_strs ? Array.from(ids, (id) => tokenizer.decode([id])) : null,
    });
  },
};

const detokenizeSchema = object({ model: modelName, tokens: v.array(integer(0)) });

export const detokenize: Route = {
  method: "POST",
  path: "/detokenize",
  tag: "Halfbyte",
  summary: "The text of token ids.",
  body: detokenizeSchema,
  response: v.object({ prompt: v.string() }),
  prompt: "tokens",
  async handle(call) {
    const { model: name, tokens } = await bodyOf(call, detokenizeSchema);
    const model = await call.scope.lease(call.state.pool, name);
    return json({ prompt: model.tokenizer.decode(tokens) });
  },
};
