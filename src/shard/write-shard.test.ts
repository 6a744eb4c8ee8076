import { describe, expect, it } from "vitest";
import { openFiles } from "../../test/quantized-folder.ts";
import { ENCODINGS, shardableLlama, weightsOf } from "../../test/shardable-llama.ts";
import type { OutputFolder } from "../convert/writer.ts";
import { openModel } from "../models/open-model.ts";
import type { ShardOptions } from "./cuts.ts";
import { shardOfFile } from "./load-shard.ts";
import { planShard, type WriteShardOptions } from "./write-shard.ts";

/** A folder in memory, and its files once they are written. */
function memoryFolder(): { folder: OutputFolder; files: Map<string, Uint8Array> } {
  const files = new Map<string, Uint8Array>();
  const file: OutputFolder["file"] = async (name) => {
    files.set(name, new Uint8Array(0));
    return {
      async write(offset, bytes) {
        const before = files.get(name)!;
        const after = new Uint8Array(Math.max(before.length, offset + bytes.length));
        after.set(before);
        after.set(bytes, offset);
        files.set(name, after);
      },
    };
  };
  return { folder: { file }, files };
}

async function written(
  files: Map<string, Uint8Array>,
  rank: ShardOptions,
  options: WriteShardOptions = {},
): Promise<Map<string, Uint8Array>> {
  const output = memoryFolder();
  await (await planShard(await openFiles(files), rank, options)).write(output.folder);
  return output.files;
}

/** What a test changes of shard.json. */
interface Written {
  version?: number;
  share?: Record<string, unknown>;
  tensors: Record<string, Record<string, unknown>>;
}

const jsonOf = <T = Record<string, unknown>>(files: Map<string, Uint8Array>, name: string): T =>
  JSON.parse(new TextDecoder().decode(files.get(name)));
const jsonInto = (files: Map<string, Uint8Array>, name: string, value: unknown): void =>
  void files.set(name, new TextEncoder().encode(JSON.stringify(value)));

describe.each(Object.entries(ENCODINGS))("folders of ranks of a model as %s", (_, encoding) => {
  it.each([1, 2, 3, 4])("of %i have what the model's shards have, to the bit", async (of) => {
    const whole = shardableLlama(encoding);
    for (let rank = 0; rank < of; rank++) {
      const shard = { rank, of };
      const expected = await shardOfFile(await openFiles(whole), { shard });
      const files = await written(whole, shard);
      const got = await shardOfFile(await openFiles(files), { shard });
      expect(got.share).toEqual(expected.share);
      expect(got.config).toEqual(expected.config);
      expect([...got.tensors].sort()).toEqual([...expected.tensors].sort());
      expect(got.graph).toEqual(expected.graph);
      for (const name of got.tensors.keys())
        if (/(norm.weight|bias)$/.test(name)) expect(await got.vector(name)).toEqual(await expected.vector(name));
        else expect(await weightsOf(got.matrix(name)), name).toEqual(await weightsOf(expected.matrix(name)));
      expect(files.has("generation_config.json")).toBe(true);
    }
  });
});

describe("a rank's folder", () => {
  const llama = (): Map<string, Uint8Array> => shardableLlama(ENCODINGS.cpu_int4!);
  const open = async (files: Map<string, Uint8Array>, shard: ShardOptions) =>
    shardOfFile(await openFiles(files), { shard });

  it("is refused where a model that answers is wanted, and as another rank", async () => {
    const files = await written(llama(), { rank: 1, of: 2 });
    await expect(openModel(await openFiles(files))).rejects.toMatchObject({
      code: "ERR_UNSUPPORTED",
      message: expect.stringMatching(/config.json, "halfbyte_shard".*cannot answer alone/),
    });
    await expect(open(files, { rank: 0, of: 2 })).rejects.toMatchObject({
      code: "ERR_ARGUMENT",
      message: expect.stringMatching(/rank 0 of 2, got rank 1 of 2/),
    });
  });

  it("can be in another encoding that holds it, and is refused in one that does not", async () => {
    const files = await written(shardableLlama(ENCODINGS.AWQ!), { rank: 0, of: 2 }, { to: "compressed-tensors" });
    expect(jsonOf(files, "config.json").quantization_config).toMatchObject({ quant_method: "compressed-tensors" });
    await expect(written(llama(), { rank: 0, of: 2 }, { to: "gptq" })).rejects.toMatchObject({
      code: "ERR_UNSUPPORTED",
      place: expect.stringMatching(/weight/),
    });
  });

  it.each<[string, RegExp, (manifest: Written) => void]>([
    ["no version", /version/, (m) => void delete m.version],
    ["no share", /share/, (m) => void delete m.share],
    ["a rank that is none", /shard.rank/, (m) => void (m.share!.rank = 5)],
    ["heads that are no range", /heads/, (m) => void (m.share!.heads = { first: 3, end: 3 })],
    ["heads beyond its tensors", /q_proj.*does not fit/, (m) => void (m.share!.heads = { first: 0, end: 6 })],
    ["fewer tensors", /lacks a tensor/, (m) => void delete m.tensors["lm_head.weight"]],
    ["tensors past their end", /lm_head.weight: not a share/, (m) => void (m.tensors["lm_head.weight"]!.end = 99)],
    ["an order of others", /not a share/, (m) => void (m.tensors["lm_head.weight"]!.taken = [1, 2])],
  ])("with %s is refused", async (_, message, change) => {
    const files = await written(llama(), { rank: 0, of: 2 });
    const manifest = jsonOf<Written>(files, "shard.json");
    change(manifest);
    jsonInto(files, "shard.json", manifest);
    await expect(open(files, { rank: 0, of: 2 })).rejects.toMatchObject({
      name: "HalfbyteError",
      message: expect.stringMatching(message),
    });
  });
});
