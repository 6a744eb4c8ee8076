import { mkdtemp, readdir, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { Random } from "../../test/random-plan.ts";
import {
  type GenerateOptions,
  HalfbyteError,
  type LoadModelOptions,
  loadModel,
  type Model,
  restoreSession,
  saveSession,
} from "../index.ts";

const load = async (name: string, options: LoadModelOptions = {}): Promise<Model> =>
  loadModel(new URL(`../../test/golden/${name}.gguf`, import.meta.url), { executor: "wasm", ...options });

const prompt = [5, 77, 130, 9, 42, 201, 8, 15, 99, 310, 4, 61];
const options: GenerateOptions = {
  ignoreEnd: true,
  temperature: 1.2,
  seed: 7,
  frequencyPenalty: 0.8,
  repetitionPenalty: 1.2,
  logprobs: 1,
};

let model: Model;
let folder: string;
let path: string;
beforeAll(async () => {
  model = await load("llama-q4_0");
  folder = await mkdtemp(join(tmpdir(), "halfbyte-session-"));
  path = join(folder, "talk.session");
});
afterAll(async () => {
  await model.dispose();
  await rm(folder, { recursive: true });
});

describe("a session", () => {
  it("goes on in another process's model as if it had never stopped", async () => {
    const whole = await model.complete(prompt, { ...options, maxTokens: 30 }).result;
    const started = model.complete(prompt, { ...options, maxTokens: 30 });
    let seen = 0;
    for await (const { tokens } of started.events()) if ((seen += tokens.length) >= 11) break;
    await saveSession(path, model, started.session);
    expect(await readdir(folder)).toEqual(["talk.session"]);

    const other = await load("llama-q4_0", { stepTokens: 5 });
    const session = await restoreSession(path, other);
    expect(session.promptLength).toBe(prompt.length);
    const done = session.tokens.length - prompt.length;
    const rest = await other.resume(session, { ...options, seed: 1, maxTokens: 30 - done }).result;
    expect(rest.tokens).toEqual(whole.tokens.slice(done));
    await other.dispose();
  });

  it("can be saved before, during and after an answer, and again from where it went on", async () => {
    const answer = model.complete(prompt, { ...options, maxTokens: 6 });
    expect(answer.session.tokens).toEqual(Int32Array.from(prompt));
    const { tokens } = await answer.result;
    const bytes = await model.encodeSession(answer.session);
    const next = model.resume(await model.decodeSession(bytes), { ...options, maxTokens: 3 });
    const more = await next.result;
    expect(Array.from(next.session.tokens)).toEqual([...prompt, ...[...tokens, ...more.tokens].map(({ id }) => id)]);
    expect(next.session.promptLength).toBe(prompt.length);
  });

  it("is refused by another model, and by one that is loaded otherwise", async () => {
    const bytes = await model.encodeSession(model.complete(prompt, options).session);
    for (const other of [await load("gemma3-q4_0"), await load("llama-q4_0", { activations: "a16" })]) {
      await expect(other.decodeSession(bytes)).rejects.toMatchObject({ code: "ERR_UNKNOWN_MODEL" });
      await other.dispose();
      await expect(other.decodeSession(bytes)).rejects.toMatchObject({ code: "ERR_DISPOSED" });
    }
  });

  it("is refused when a byte is missing or other than it was", async () => {
    const bytes = await model.encodeSession(model.complete(prompt, options).session);
    const codes = ["ERR_FORMAT", "ERR_TRUNCATED", "ERR_HASH", "ERR_LIMIT", "ERR_UNSUPPORTED"];
    const random = new Random(3);
    for (let i = 0; i < bytes.length; i++) {
      const changed = bytes.slice();
      changed[i]! ^= 1 + random.below(255);
      for (const hostile of [changed, bytes.slice(0, i)]) {
        const error = await model.decodeSession(hostile).catch((reason: unknown) => reason);
        expect(error).toBeInstanceOf(HalfbyteError);
        expect(codes).toContain((error as HalfbyteError).code);
      }
    }
  });

  it("is refused when it is whole but says what cannot be", async () => {
    const session = model.complete(prompt, options).session;
    const code = async (changed: object, expected: string): Promise<void> => {
      const bytes = await model.encodeSession({ ...session, ...changed });
      const outcome = model.decodeSession(bytes).then((decoded) => model.resume(decoded, options).result);
      await expect(outcome).rejects.toMatchObject({ code: expected });
    };
    await code({ tokens: Int32Array.of(1, 512) }, "ERR_FORMAT");
    await code({ tokens: Int32Array.of(1, -1) }, "ERR_FORMAT");
    await code({ promptLength: 0 }, "ERR_FORMAT");
    await code({ promptLength: 99 }, "ERR_FORMAT");
    await code({ sampler: null }, "ERR_ARGUMENT");
    await code({ sampler: { seed: 1, generator: [0, 0, 0, 0] } }, "ERR_ARGUMENT");
    await code({ sampler: { seed: "x", generator: session.sampler.generator } }, "ERR_ARGUMENT");
    await code({ tokens: new Int32Array(model.info.contextLength).fill(1) }, "context_length_exceeded");
  });

  it("says what is wrong with a file", async () => {
    await expect(restoreSession(join(folder, "absent"), model)).rejects.toMatchObject({ code: "ERR_MISSING" });
    await expect(restoreSession(folder, model)).rejects.toMatchObject({ code: "ERR_IO" });
    await writeFile(path, "no session");
    await expect(restoreSession(path, model)).rejects.toMatchObject({ code: "ERR_TRUNCATED" });
    const { session } = model.complete(prompt, options);
    await expect(saveSession(join(folder, "no", "folder"), model, session)).rejects.toMatchObject({ code: "ERR_IO" });
  });
});
