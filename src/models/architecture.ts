import type { Graph } from "../plan/graph.ts";
import type { ConfigReader } from "./config-reader.ts";
import type { DecoderConfig } from "./decoder-config.ts";
import type { GgufModelFile } from "./gguf-config.ts";
import type { DecoderNames } from "./tensor-names.ts";

/** A model family Halfbyte can run: how its configuration reads, and what one step of it computes. */
export interface Architecture {
  readonly name: string;
  /** `model_type` in config.json. */
  readonly modelTypes: readonly string[];
  /** `general.architecture` in GGUF. */
  readonly ggufNames: readonly string[];
  /** Throws a typed error, with the key as its place, for what is missing, out of range or not supported. */
  fromHuggingFace(config: ConfigReader): DecoderConfig;
  /** Tensors that the checkpoint calls otherwise than most do: `self_attn.o_proj` → `self_attn.out_proj`. */
  readonly renamed?: Readonly<Record<string, string>>;
  /** Absent where no GGUF file of the family is read. */
  fromGguf?(file: GgufModelFile): Promise<DecoderConfig>;
  /** One step; weights go by the file's own names. */
  graph(config: DecoderConfig, names: DecoderNames): Graph;
}
