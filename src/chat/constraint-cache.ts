import { compileConstraint } from "../grammar/compile-constraint.ts";
import type { CompiledConstraint, ConstraintOptions, ConstraintSpec } from "../grammar/token-constraint.ts";
import type { Model } from "../model.ts";

/** Schemas of one model whose compiled form is kept: clients send the same few again and again. */
const KEPT = 32;

const caches = new WeakMap<Model, Map<string, Promise<CompiledConstraint>>>();

/** The compiled form of a language for a model, kept for the next request. Throws ERR_GRAMMAR. */
export function compiledFor(
  model: Model,
  spec: ConstraintSpec,
  options: ConstraintOptions,
): Promise<CompiledConstraint> {
  let cache = caches.get(model);
  if (!cache) caches.set(model, (cache = new Map()));
  const key = JSON.stringify([spec, options]);
  const compiled =
    cache.get(key) ??
    compileConstraint(spec, model.tokenizer, {
      dropsFirstSpace: model.tokenizer.stripsLeadingSpace,
      vocabularySize: model.info.vocabularySize,
      ...options,
    });
  // The one used last is the last to go.
  cache.delete(key);
  cache.set(key, compiled);
  compiled.catch(() => cache.delete(key));
  if (cache.size > KEPT) cache.delete(cache.keys().next().value!);
  return compiled;
}
