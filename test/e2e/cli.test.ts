import { spawnSync } from "node:child_process";
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { openGguf } from "../../src/formats/gguf/open-gguf.ts";
import { memorySource } from "../../src/formats/memory-source.ts";
import { FileServer } from "../file-server.ts";
import {
  type CommandOptions,
  type Ended,
  halfbyte,
  hasTerminal,
  inTerminal,
  isBuilt,
  MAIN,
  TINY_MODEL,
} from "./command.ts";

const title = isBuilt ? "the command halfbyte" : "the command halfbyte (skipped: npm run build makes it)";
/** The byte that escape sequences begin with, in the alphabet of byte-level vocabularies. */
const ESCAPE_TOKEN = "\u011b";
/** The type of a 32-bit number in GGUF's metadata. */
const GGUF_UINT32 = 4;

describe.skipIf(!isBuilt)(title, () => {
  let folder: string;
  let environment: Record<string, string>;
  let escapeId: number;
  const command = (args: readonly string[], options: CommandOptions = {}): Promise<Ended> =>
    halfbyte(args, { ...options, environment: { ...environment, ...options.environment } });
  const model = (bytes: Uint8Array, name: string): Promise<string> => {
    const path = join(folder, name);
    return writeFile(path, bytes).then(() => path);
  };
  /** The tiny model with a text in it replaced by another of the same length. */
  const altered = async (from: string, to: string): Promise<Uint8Array> => {
    const bytes = await readFile(TINY_MODEL);
    const at = bytes.indexOf(from);
    expect(at).toBeGreaterThan(0);
    bytes.write(to, at);
    return bytes;
  };

  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), "halfbyte-cli-"));
    environment = {
      HALFBYTE_CACHE: join(folder, "cache"),
      HALFBYTE_EXECUTOR: "reference",
      HALFBYTE_DEBUG: "",
      HALFBYTE_OFFLINE: "",
    };
    const { metadata } = await openGguf(memorySource(await readFile(TINY_MODEL)));
    escapeId = (await metadata.strings("tokenizer.ggml.tokens")).indexOf(ESCAPE_TOKEN);
  });
  afterAll(() => rm(folder, { recursive: true, force: true }));

  describe("help and usage", () => {
    it("shows help with examples and exit codes", async () => {
      const top = await command(["--help"]);
      expect(top).toMatchObject({ code: 0, stderr: "" });
      expect(top.stdout).toContain("Exit codes: 0 done, 1 failed, 2 wrong usage, 130 interrupted.");
      for (const name of ["start", "run", "pull", "list", "rm", "inspect", "doctor"]) {
        const { code, stdout } = await command([name, "--help"]);
        expect(code).toBe(0);
        expect(stdout).toContain("Example");
      }
    });

    it("tells its version", async () => {
      const { version } = JSON.parse(await readFile(new URL("../../package.json", import.meta.url), "utf8"));
      expect(await command(["--version"])).toMatchObject({ code: 0, stdout: `${version}\n` });
    });

    it.each([[[]], [["nonsense"]], [["run"]], [["run", TINY_MODEL, "hi", "--top-k", "many"]], [["list", "--what"]]])(
      "ends with code 2 for %j",
      async (args) => {
        expect(await command(args)).toMatchObject({ code: 2, stdout: "" });
      },
    );

    it("finds bad options before it looks for the model", async () => {
      const { code, stderr } = await command(["run", "./absent.gguf", "hi", "--temperature", "-1"]);
      expect(code).toBe(2);
      expect(stderr).toBe(
        "error [ERR_ARGUMENT]: temperature: not a valid sampling option; expected a finite number from 0, got -1\n",
      );
    });
  });

  describe("run", () => {
    it("answers on standard output and tells of itself in one line on standard error", async () => {
      const { code, stdout, stderr } = await command(["run", TINY_MODEL, "hello", "-n", "6"]);
      expect(code).toBe(0);
      expect(stdout.length).toBeGreaterThan(1);
      expect(stdout.endsWith("\n")).toBe(true);
      const pace = /first token \d+ ms · prefill [\d.]+ tokens\/s · decode [\d.]+ tokens\/s\n$/;
      expect(stderr).toMatch(
        /^llama-q4_0\.gguf · 208 kB at 5\.\d\d bits per weight · reference typescript, 1 thread \(/,
      );
      expect(stderr).toMatch(pace);
      expect(stderr.split("\n")).toHaveLength(2);
      expect(stdout + stderr).not.toContain("\x1b");
    });

    it("says the same with the fastest executor", async () => {
      const args = ["run", TINY_MODEL, "hello", "-n", "12", "--quiet"];
      const reference = await command(args);
      expect(reference).toMatchObject({ code: 0, stderr: "" });
      expect(await command(args, { environment: { HALFBYTE_EXECUTOR: "" } })).toEqual(reference);
    });

    it("takes the prompt from standard input, alone or after words", async () => {
      const args = ["run", TINY_MODEL, "-n", "8", "--quiet", "--json"];
      const json = async (words: string[], input: string): Promise<{ text: string; usage: { promptTokens: number } }> =>
        JSON.parse((await command([...args, ...words], { input })).stdout);
      const alone = await json([], "hello\n");
      expect(alone.text).toBe((await json(["hello"], "ignored")).text);
      const after = await json(["Sum up:", "-"], "hello\n");
      expect(after.usage.promptTokens).toBeGreaterThan(alone.usage.promptTokens);
      expect(await command(args, { input: "" })).toMatchObject({ code: 2, stdout: "" });
    });

    it("prints one JSON object that repeats with its seed", async () => {
      const args = ["run", TINY_MODEL, "hello", "--json", "-n", "8", "-t", "1.5", "--seed", "7", "--logprobs", "1"];
      const { code, stdout } = await command(args);
      expect(code).toBe(0);
      const first = JSON.parse(stdout);
      expect(first).toMatchObject({
        finishReason: "length",
        seed: 7,
        usage: { completionTokens: 8, cachedTokens: 0 },
        model: { architecture: "llama", contextLength: 256, executor: { name: "reference" } },
      });
      expect(first.tokens).toHaveLength(8);
      const again = JSON.parse((await command(args)).stdout);
      expect([again.text, again.tokens]).toEqual([first.text, first.tokens]);
    });

    it("ends at a stop text, which it does not show", async () => {
      const whole = (await command(["run", TINY_MODEL, "hello", "-n", "8", "-q"])).stdout.trimEnd();
      const stop = whole.slice(2, 4);
      const { stdout } = await command(["run", TINY_MODEL, "hello", "-n", "8", "-q", "--stop", stop]);
      expect(stdout).toBe(`${whole.slice(0, whole.indexOf(stop))}\n`);
    });

    it("refuses to chat with a base model, but goes on from a text with --raw", async () => {
      const path = await model(await altered("tokenizer.chat_template", "tokenizer.chat_templete"), "base.gguf");
      const refused = await command(["run", path, "hello"]);
      expect(refused).toMatchObject({ code: 1, stdout: "" });
      expect(refused.stderr).toMatch(/^error \[ERR_NO_CHAT_TEMPLATE\]: base\.gguf: .*--raw.*--chat-template FILE\n$/);
      expect(await command(["run", path, "hello", "--raw", "-n", "4", "-q"])).toMatchObject({ code: 0, stderr: "" });
      const template = join(folder, "template.jinja");
      await writeFile(template, "{% for message in messages %}{{ message['content'] }}{% endfor %}");
      const given = await command(["run", path, "hello", "--chat-template", template, "-n", "4", "-q"]);
      expect(given).toMatchObject({ code: 0, stderr: "" });
    });

    it("refuses a prompt past the context with both numbers", async () => {
      const { code, stderr } = await command(["run", TINY_MODEL, "word ".repeat(400)]);
      expect(code).toBe(1);
      expect(stderr).toMatch(/^error \[context_length_exceeded\]: prompt: the prompt has \d+ tokens and .* 256;/);
    });

    it("shows the stack of an error only where it is asked for", async () => {
      const args = ["run", join(folder, "absent.gguf"), "hello"];
      expect((await command(args)).stderr).toMatch(/^error \[ERR_MISSING\]: .*\n$/);
      expect((await command([...args, "--verbose"])).stderr).toMatch(/\n {4}at /);
      expect((await command(args, { environment: { HALFBYTE_DEBUG: "1" } })).stderr).toMatch(/\n {4}at /);
    });

    it.each(["SIGINT", "SIGTERM"] as const)("ends in order with code 130 at %s", async (signalAtOutput) => {
      const args = ["run", TINY_MODEL, "hello", "--ignore-end", "--logit-bias", "65=20"];
      const { code, stdout, stderr } = await command(args, { signalAtOutput });
      expect(code).toBe(130);
      expect(stdout.length).toBeGreaterThan(1);
      expect(stderr).toBe("");
    });

    it("passes on a model's control characters where there is no terminal", async () => {
      const { stdout } = await command(["run", TINY_MODEL, "hi", "-n", "3", "-q", "--logit-bias", `${escapeId}=100`]);
      expect(stdout).toBe("\x1b\x1b\x1b\n");
    });

    it.skipIf(process.platform === "win32")("ends quietly when its reader has gone", () => {
      const script = `set -o pipefail; "${process.execPath}" "${MAIN}" run "${TINY_MODEL}" hi --ignore-end | head -c 1`;
      const { status, stderr } = spawnSync("bash", ["-c", script], { env: { ...process.env, ...environment } });
      expect({ status, stderr: String(stderr) }).toEqual({ status: 0, stderr: "" });
    });
  });

  describe("the cache", () => {
    it("pulls from a URL, lists, runs by name and removes", async () => {
      const server = await new FileServer().start();
      try {
        server.file("/tiny.gguf", { bytes: await readFile(TINY_MODEL), etag: '"1"' });
        expect(JSON.parse((await command(["list", "--json"])).stdout)).toEqual([]);
        const pulled = await command(["pull", `${server.origin}/tiny.gguf`]);
        expect(pulled.code).toBe(0);
        expect(pulled.stdout.trim()).toMatch(/tiny\.gguf$/);
        expect(pulled.stderr).toContain("219 kB");
        expect(pulled.stderr).not.toContain("\x1b");
        const again = JSON.parse((await command(["pull", `${server.origin}/tiny.gguf`, "--json"])).stdout);
        expect(again).toMatchObject({ cached: true, bytes: 219168, format: "gguf" });
        expect((await command(["list"])).stdout).toContain(again.name);
        expect((await command(["run", again.name, "hi", "-n", "2"])).code).toBe(0);

        expect(await command(["rm", again.name])).toMatchObject({ code: 2, stdout: "" });
        const removed = await command(["rm", again.name, "--yes", "--json"]);
        expect(JSON.parse(removed.stdout)).toEqual([{ name: again.name, freedBytes: 219168 }]);
        expect(await command(["rm", again.name, "--yes"])).toMatchObject({ code: 1 });
        expect((await command(["list"])).stdout).toBe("");
      } finally {
        await server.stop();
      }
    });
  });

  describe("inspect", () => {
    it("shows architecture, memory, tensors and kernels", async () => {
      const { code, stdout } = await command(["inspect", TINY_MODEL, "--plan"]);
      expect(code).toBe(0);
      expect(stdout).toMatch(/^model +llama, 317 k parameters$/m);
      expect(stdout).toMatch(/^weights +208 kB packed, 5\.\d\d bits per weight$/m);
      expect(stdout).toMatch(/^cache +384 kB per 1,000 tokens/m);
      expect(stdout).toMatch(/^3 × +blk\.\*\.ffn_up\.weight +Q4_0 +224 × 96 .*reference typescript, W4A8$/m);
      expect(stdout).toContain("plan: ");
    });

    it("gives everything as JSON", async () => {
      const inspected = JSON.parse((await command(["inspect", TINY_MODEL, "--json", "-c", "128"])).stdout);
      expect(inspected).toMatchObject({
        format: "GGUF v3",
        architecture: "llama",
        metadata: { "llama.block_count": 3, "tokenizer.ggml.tokens": { arrayOf: "string", length: 512 } },
        memory: { contextLength: 128, cacheBytes: 49152 },
        executor: { name: "reference", kernel: "typescript" },
      });
      expect(inspected.tensors).toHaveLength(29);
    });

    it("shows metadata and tensors of a model it cannot run, with the reason", async () => {
      const path = await model(await altered("llama", "sp\x1b[k"), "unknown.gguf");
      const { code, stdout } = await command(["inspect", path]);
      expect(code).toBe(0);
      expect(stdout).toMatch(/^cannot run: error \[ERR_UNKNOWN_ARCHITECTURE\]: .*llama/m);
      expect(stdout).toContain("token_embd.weight");
      expect(stdout).not.toContain("\x1b");
      expect(JSON.parse((await command(["inspect", path, "--json"])).stdout).refusal.code).toBe(
        "ERR_UNKNOWN_ARCHITECTURE",
      );
    });

    it("refuses a kernel that cannot run here, as running does", async () => {
      const wish = ["--executor", "wasm", "--kernel", "abacus"];
      for (const args of [
        ["inspect", TINY_MODEL, ...wish],
        ["run", TINY_MODEL, "hi", ...wish],
      ]) {
        const { code, stderr } = await command(args);
        expect(code).toBe(1);
        expect(stderr).toMatch(/^error \[ERR_EXECUTOR\]: .*abacus/);
      }
    });

    it("reads the header alone of a file at a URL", async () => {
      const server = await new FileServer().start();
      // The rest of the file stands for large weights.
      const bytes = Buffer.concat([await readFile(TINY_MODEL), Buffer.alloc(8_000_000)]);
      let sent = 0;
      server.route("/m.gguf", (request, response) => {
        const [, from, to] = /^bytes=(\d+)-(\d+)$/.exec(request.headers.range ?? "") ?? [];
        const body = bytes.subarray(Number(from), Number(to) + 1);
        sent += body.length;
        response.writeHead(206, {
          "content-range": `bytes ${from}-${Number(from) + body.length - 1}/${bytes.length}`,
          "content-length": body.length,
        });
        response.end(body);
      });
      try {
        const { code, stdout } = await command(["inspect", `${server.origin}/m.gguf`]);
        expect(code).toBe(0);
        expect(stdout).toMatch(/^model +llama/m);
        expect(sent).toBeLessThan(2_000_000);
      } finally {
        await server.stop();
      }
    });

    it("names what is not on this machine", async () => {
      expect((await command(["inspect", "nobody/nothing"])).stderr).toMatch(/^error \[ERR_UNKNOWN_MODEL\]: .*pull/);
      expect((await command(["inspect", "./nothing.gguf"])).stderr).toMatch(/^error \[ERR_MISSING\]: /);
    });
  });

  it("doctor tests the executors and tells of the machine", async () => {
    const { code, stdout } = await command(["doctor", "--json"]);
    expect(code).toBe(0);
    const report = JSON.parse(stdout);
    expect(report.node).toBe(process.versions.node);
    expect(report.threads.threads).toBeGreaterThanOrEqual(1);
    expect(report.cache.folder).toBe(environment.HALFBYTE_CACHE);
    const kernels: { executor: string; runs: boolean; exact?: boolean }[] = report.kernels;
    expect(kernels.filter(({ runs }) => runs).map(({ executor }) => executor)).toEqual(
      expect.arrayContaining(["wasm", "reference"]),
    );
    expect(kernels.every(({ runs, exact }) => !runs || exact)).toBe(true);
    expect((await command(["doctor"])).stdout).toMatch(/^threads +\d+: \d+ of \d+ CPUs may be used/m);
  });

  const inTerminals = hasTerminal ? "in a terminal" : "in a terminal (skipped: needs python3 and its pty module)";
  describe.skipIf(!hasTerminal)(inTerminals, () => {
    /** The tiny model with a context so long that its answers end only when they are interrupted. */
    let endless: string;
    beforeAll(async () => {
      const bytes = await readFile(TINY_MODEL);
      const key = "llama.context_length";
      const at = bytes.indexOf(key) + key.length;
      expect(bytes.readUInt32LE(at)).toBe(GGUF_UINT32);
      bytes.writeUInt32LE(1 << 20, at + 4);
      endless = await model(bytes, "endless.gguf");
    });

    it("chats with history; Ctrl-C stops the answer and not the chat; Ctrl-D leaves", async () => {
      const { output, code, failure } = await inTerminal(
        ["run", endless, "--ignore-end", "--logit-bias", "65=30"],
        [
          ["expect", "/help lists commands"],
          ["expect", ">>> "],
          ["send", "hello\r"],
          ["wait", 0.5],
          ["send", "\x03"],
          ["expect", ">>> "],
          ["send", "/help\r"],
          ["expect", "forgets the conversation"],
          ["expect", ">>> "],
          ["send", "half a message\x03"],
          ["expect", ">>> "],
          ["send", "two \\\r"],
          ["expect", "... "],
          ["send", "lines\r"],
          ["wait", 0.5],
          ["send", "\x03"],
          ["expect", ">>> "],
          ["send", "/clear\r"],
          ["expect", "forgotten"],
          ["expect", ">>> "],
          ["send", "\x04"],
        ],
        environment,
      );
      expect({ failure, code }, output).toEqual({ failure: null, code: 0 });
      expect(output).not.toContain("the limit of tokens was reached");
    });

    it("leaves at Ctrl-C on an empty line", async () => {
      const steps = [
        ["expect", ">>> "],
        ["send", "\x03"],
      ] as const;
      expect(await inTerminal(["run", TINY_MODEL], steps, environment)).toMatchObject({ code: 0, failure: null });
    });

    it("keeps what is typed during an answer for the next message", async () => {
      const { output, failure } = await inTerminal(
        ["run", endless, "-n", "400", "--ignore-end"],
        [
          ["expect", ">>> "],
          ["send", "hello\r"],
          ["wait", 0.3],
          ["send", "/exit"],
          ["expect", ">>> /exit"],
          ["send", "\r"],
        ],
        environment,
      );
      expect(failure, output).toBeNull();
    });

    it("does not let a model drive the terminal", async () => {
      const { output } = await inTerminal(
        ["run", TINY_MODEL, "hi", "-n", "3", "-q", "--logit-bias", `${escapeId}=100`],
        [],
        environment,
      );
      expect(output.trim()).toBe("");
    });

    it("has no colours where NO_COLOR is set", async () => {
      const args = ["run", TINY_MODEL, "hi", "-n", "2"];
      const coloured = await inTerminal(args, [], { ...environment, NO_COLOR: "", FORCE_COLOR: "1" });
      expect(coloured.output).toContain("\x1b[2m");
      const plain = await inTerminal(args, [], { ...environment, NO_COLOR: "1" });
      expect(plain.output).not.toContain("\x1b[2m");
    });

    it("asks before it removes", async () => {
      const { output, code } = await inTerminal(
        ["rm", "nothing"],
        [
          ["expect", "[y/N] "],
          ["send", "n\r"],
        ],
        environment,
      );
      expect(output).toContain("nothing was removed");
      expect(code).toBe(0);
    });

    it("ends a one-shot answer at Ctrl-C with code 130", async () => {
      const { code } = await inTerminal(
        ["run", endless, "hi", "--ignore-end", "-q"],
        [
          ["wait", 0.6],
          ["send", "\x03"],
        ],
        environment,
      );
      expect(code).toBe(130);
    });
  });
});
