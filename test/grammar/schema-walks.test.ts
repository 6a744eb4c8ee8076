import { describe, expect, it } from "vitest";
import { compileConstraint } from "../../src/grammar/compile-constraint.ts";
import { pieceTokenizer } from "./piece-tokenizer.ts";
import { randomFrom, randomWalk } from "./random-walk.ts";
import { schemas } from "./schemas.ts";
import { validatorOf } from "./validator.ts";

/** Seconds for all walks, by `npm run test:schemas`; without it each schema is walked a few times. */
const seconds = Number(process.env.HALFBYTE_SCHEMA_SECONDS ?? 0);
const WALKS = 12;
/** Of a schema's walks so many must come to an end, or the test tests nothing. */
const MIN_FINISHED = 3;

describe("random walks through masks end in what Ajv finds valid", () => {
  const tokenizer = pieceTokenizer();

  it("there are 200 schemas", () => {
    expect(schemas.length).toBeGreaterThanOrEqual(200);
    expect(new Set(schemas.map(([, schema]) => JSON.stringify(schema))).size).toBe(schemas.length);
  });

  it.each(schemas)("%s", { timeout: 60_000 + seconds * 1000 }, async (name, schema) => {
    const constraint = await compileConstraint({ type: "json_schema", schema }, tokenizer);
    const validate = validatorOf(schema);
    const end = performance.now() + (seconds * 1000) / schemas.length;
    let finished = 0;
    for (let walk = 0; walk < WALKS || performance.now() < end; walk++) {
      const options = { random: randomFrom(walk), softLimit: 4 + (walk % 8) * 6, hardLimit: 1500 };
      const bytes = randomWalk(constraint, tokenizer, options);
      if (!bytes) continue;
      finished++;
      const text = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes);
      expect(validate(text), `${name}, walk ${walk}: ${text}`).toBeUndefined();
    }
    expect(finished).toBeGreaterThanOrEqual(MIN_FINISHED);
  });
});
