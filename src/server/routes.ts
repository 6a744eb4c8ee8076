import { countTokens, messages } from "./anthropic/messages.ts";
import { health, metrics, ready } from "./health.ts";
import { chatCompletions } from "./openai/chat-completions.ts";
import { completions } from "./openai/completions.ts";
import { embeddings } from "./openai/embeddings.ts";
import { getModel, listModels, loadModelRoute, unloadModelRoute } from "./openai/models.ts";
import { responses } from "./openai/responses.ts";
import type { Route } from "./route.ts";
import { detokenize, tokenize } from "./tokenize.ts";

/** All operations, in the order in which /docs shows them. */
export const ROUTES: readonly Route[] = [
  chatCompletions,
  completions,
  responses,
  embeddings,
  messages,
  countTokens,
  listModels,
  getModel,
  tokenize,
  detokenize,
  loadModelRoute,
  unloadModelRoute,
  health,
  ready,
  metrics,
];
