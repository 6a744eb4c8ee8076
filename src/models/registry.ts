import { HalfbyteError } from "../errors.ts";
import { shown } from "../formats/shown.ts";
import type { Architecture } from "./architecture.ts";
import { gemma2 } from "./gemma2.ts";
import { gemma3 } from "./gemma3.ts";
import { granite } from "./granite.ts";
import { llama } from "./llama.ts";
import { mistral } from "./mistral.ts";
import { olmo2 } from "./olmo2.ts";
import { phi3 } from "./phi3.ts";
import { qwen2 } from "./qwen2.ts";
import { qwen3 } from "./qwen3.ts";
import { smollm3 } from "./smollm3.ts";
import { spark } from "./spark.ts";

/** The model families Halfbyte can run. */
export const architectures: readonly Architecture[] = [
  llama,
  mistral,
  gemma3,
  qwen2,
  qwen3,
  gemma2,
  granite,
  olmo2,
  phi3,
  smollm3,
  spark,
];

/** By `general.architecture` of a GGUF file. Throws ERR_UNKNOWN_ARCHITECTURE with the list of those known. */
export function architectureOfGguf(name: string, place: string): Architecture {
  const known = architectures.flatMap((each) => each.ggufNames);
  return architectures.find((each) => each.ggufNames.includes(name)) ?? refuse(name, known, place);
}

/** By `model_type` of a config.json. Throws ERR_UNKNOWN_ARCHITECTURE with the list of those known. */
export function architectureOfModelType(name: string, place: string): Architecture {
  const known = architectures.flatMap((each) => each.modelTypes);
  return architectures.find((each) => each.modelTypes.includes(name)) ?? refuse(name, known, place);
}

function refuse(name: string, known: readonly string[], place: string): never {
  throw new HalfbyteError("ERR_UNKNOWN_ARCHITECTURE", `Halfbyte does not know the architecture ${shown(name)}`, {
    place,
    expected: `one of ${known.join(", ")}`,
  });
}
