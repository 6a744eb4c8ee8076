import * as v from "valibot";
import type { GenerateOptions } from "../engine/generate-options.ts";
import { ApiError } from "./api-error.ts";

/** A field that may be left out, and null says the same. */
export type Optional<T> = v.GenericSchema<unknown, T | null | undefined>;

export function optional<T>(schema: v.GenericSchema<unknown, T>): Optional<T> {
  return v.nullish(schema);
}

export function decimal(from: number, to: number): v.GenericSchema<unknown, number> {
  return v.pipe(v.number(), v.minValue(from), v.maxValue(to));
}

export function integer(from: number, to: number = Number.MAX_SAFE_INTEGER): v.GenericSchema<unknown, number> {
  return v.pipe(v.number(), v.integer(), v.minValue(from), v.maxValue(to));
}

/** Any JSON object: a schema, variables of a template, metadata. */
export const jsonObject: v.GenericSchema<unknown, Record<string, unknown>> = notArray(
  v.record(v.string(), v.unknown()),
);

/** An object with these fields and no others. */
export function object<const T extends v.ObjectEntries>(entries: T): v.StrictObjectSchema<T, undefined> {
  return notArray(v.strictObject(entries));
}

/** Valibot takes an array for an object. */
function notArray<T extends v.GenericSchema>(schema: T): T {
  const run: T["~run"] = (dataset, config) => {
    if (!Array.isArray(dataset.value)) return schema["~run"](dataset, config);
    v._addIssue(schema, "type", dataset, config);
    return dataset as unknown as v.FailureDataset<v.BaseIssue<unknown>>;
  };
  return { ...schema, "~run": run };
}

/** Accepted as OpenAI's API has it, and of no effect on one machine. */
export const ignored: Optional<unknown> = v.nullish(v.unknown());

export const modelName: v.GenericSchema<unknown, string> = v.pipe(v.string(), v.nonEmpty());

/** What choices one request may ask for. */
export const MAX_CHOICES = 16;

const stopText = v.pipe(v.string(), v.nonEmpty());

/** Fields by which both the chat and the text API of OpenAI steer sampling, and below them those of vLLM. */
export interface SamplingFields {
  readonly temperature: Optional<number>;
  readonly top_p: Optional<number>;
  readonly frequency_penalty: Optional<number>;
  readonly presence_penalty: Optional<number>;
  readonly logit_bias: Optional<Record<string, number>>;
  readonly seed: Optional<number>;
  readonly stop: Optional<string | string[]>;
  readonly user: Optional<string>;
  readonly top_k: Optional<number>;
  readonly min_p: Optional<number>;
  readonly typical_p: Optional<number>;
  readonly repetition_penalty: Optional<number>;
  readonly ignore_eos: Optional<boolean>;
}

export const samplingFields: SamplingFields = {
  temperature: optional(decimal(0, 2)),
  top_p: optional(decimal(0, 1)),
  frequency_penalty: optional(decimal(-2, 2)),
  presence_penalty: optional(decimal(-2, 2)),
  logit_bias: optional(
    v.pipe(
      v.record(v.pipe(v.string(), v.regex(/^(0|[1-9]\d{0,8})$/, "its keys must be token ids.")), decimal(-100, 100)),
      v.maxEntries(1024),
    ),
  ),
  seed: optional(integer(Number.MIN_SAFE_INTEGER)),
  stop: optional(v.union([stopText, v.pipe(v.array(stopText), v.maxLength(16))])),
  user: optional(v.pipe(v.string(), v.maxLength(512))),
  top_k: optional(integer(-1)),
  min_p: optional(decimal(0, 1)),
  typical_p: optional(decimal(0, 1)),
  repetition_penalty: optional(decimal(0.01, 100)),
  ignore_eos: optional(v.boolean()),
};

/** The values of `SamplingFields`, checked. */
export type SamplingValues = { readonly [K in keyof SamplingFields]?: v.InferOutput<SamplingFields[K]> };

/** Defaults are OpenAI's: temperature 1, all tokens. */
export function samplingOptions(values: SamplingValues): GenerateOptions {
  const { seed, stop, top_k, user } = values;
  return {
    temperature: values.temperature ?? 1,
    topP: values.top_p ?? undefined,
    topK: top_k === -1 ? 0 : (top_k ?? undefined),
    minP: values.min_p ?? undefined,
    typicalP: values.typical_p ?? undefined,
    frequencyPenalty: values.frequency_penalty ?? undefined,
    presencePenalty: values.presence_penalty ?? undefined,
    repetitionPenalty: values.repetition_penalty ?? undefined,
    logitBias: values.logit_bias ?? undefined,
    // Any integer is a seed for OpenAI; halves of a line here.
    seed: seed === null || seed === undefined ? undefined : seed < 0 ? Number.MAX_SAFE_INTEGER + seed + 1 : seed,
    ...(stop && { stop }),
    ...(values.ignore_eos && { ignoreEnd: true }),
    ...(user && { user }),
  };
}

/** A rule between fields, which a schema of each alone cannot say. */
export function demand(condition: boolean, param: string, message: string): void {
  if (!condition) throw new ApiError(400, "invalid_value", message, { param });
}
