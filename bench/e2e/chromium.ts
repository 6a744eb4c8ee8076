import { createReadStream, existsSync, readdirSync, readFileSync, statSync } from "node:fs";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { extname, join, normalize } from "node:path";
import { fileURLToPath } from "node:url";
import { type Browser, type BrowserServer, chromium } from "playwright-core";
import type { Figures, Task } from "./arms/arm.d.ts";

const root = fileURLToPath(new URL("../..", import.meta.url));
const FOLDERS: Readonly<Record<string, string>> = {
  bench: join(root, "bench/e2e"),
  package: root,
  jinja: join(root, "node_modules/@huggingface/jinja"),
  rivals: join(root, "bench/rivals/node_modules"),
};
const TYPES: Readonly<Record<string, string>> = {
  ".js": "text/javascript",
  ".mjs": "text/javascript",
  ".wasm": "application/wasm",
};
const PAGE = `<!doctype html><meta charset="utf-8"><title>bench</title><script type="importmap">{ "imports": {
  "halfbyte": "/package/dist/index.browser.js",
  "@huggingface/jinja": "/jinja/dist/index.js",
  "@wllama/wllama": "/rivals/@wllama/wllama/esm/index.js" } }</script>`;
/** Linux counts processor time in hundredths of a second. */
const TICKS_PER_SECOND = 100;

/** One Chromium, whose every run has a fresh page that is cross-origin isolated. */
export class ChromiumBench {
  readonly #process: BrowserServer;
  readonly #browser: Browser;
  readonly #server: Server;
  readonly #models = new Map<string, string>();

  private constructor(process: BrowserServer, browser: Browser) {
    this.#process = process;
    this.#browser = browser;
    this.#server = createServer((request, response) => {
      response.setHeader("Cross-Origin-Opener-Policy", "same-origin");
      response.setHeader("Cross-Origin-Embedder-Policy", "require-corp");
      const { pathname } = new URL(request.url!, "http://localhost");
      if (pathname === "/") return response.setHeader("Content-Type", "text/html").end(PAGE);
      const path = this.#models.get(pathname) ?? fileOf(pathname);
      if (!path || !existsSync(path)) return response.writeHead(404).end();
      response.setHeader("Content-Type", TYPES[extname(path)] ?? "application/octet-stream");
      response.setHeader("Content-Length", statSync(path).size);
      createReadStream(path).pipe(response);
    });
  }

  static async launch(): Promise<ChromiumBench> {
    const executablePath = [process.env.CHROMIUM, "/usr/bin/chromium", "/usr/bin/google-chrome"].find(
      (path) => path && existsSync(path),
    );
    if (!executablePath) throw new Error("no Chromium: install it, or name it by CHROMIUM=path");
    const args = ["--no-sandbox", "--disable-gpu", "--disable-background-networking", "--disable-component-update"];
    const server = await chromium.launchServer({ executablePath, args });
    const bench = new ChromiumBench(server, await chromium.connect(server.wsEndpoint()));
    await new Promise<void>((done) => bench.#server.listen(0, "127.0.0.1", done));
    return bench;
  }

  get version(): string {
    return this.#browser.version();
  }

  async run(arm: string, model: string, task: Task): Promise<Figures> {
    const url = `/models/${this.#models.size}`;
    this.#models.set(url, model);
    return this.inPage("page-arm.mjs", { arm, url, task });
  }

  /** Gives `given` to the function `inPage` of a file of this folder, in a fresh page. */
  async inPage<R>(file: string, given: unknown): Promise<R> {
    const page = await this.#browser.newPage();
    try {
      await page.exposeFunction("processorSeconds", async () => processorSeconds(this.#process.process().pid!));
      await page.goto(`http://localhost:${(this.#server.address() as AddressInfo).port}/`);
      return await page.evaluate(`import("/bench/${file}").then(({ inPage }) => inPage(${JSON.stringify(given)}))`);
    } finally {
      await page.close();
    }
  }

  async close(): Promise<void> {
    await this.#browser.close();
    await this.#process.close();
    this.#server.close();
  }
}

function fileOf(pathname: string): string | undefined {
  const [, first = "", ...rest] = decodeURIComponent(pathname).split("/");
  // Normalised as an absolute path first, so that no `..` leads out of the folder.
  return FOLDERS[first] && join(FOLDERS[first], normalize(`/${rest.join("/")}`));
}

/** What a process and all below it have used so far, or undefined where there is no /proc. */
function processorSeconds(ancestor: number): number | undefined {
  if (!existsSync("/proc/self/stat")) return undefined;
  const parents = new Map<number, number>();
  const ticks = new Map<number, number>();
  for (const name of readdirSync("/proc")) {
    const pid = Number(name);
    if (!pid) continue;
    try {
      // After the command in brackets: state, parent, …; fields 14 and 15 of the whole are user and system time.
      const fields = readFileSync(`/proc/${pid}/stat`, "utf8").split(") ").at(-1)!.split(" ");
      parents.set(pid, Number(fields[1]));
      ticks.set(pid, Number(fields[11]) + Number(fields[12]));
    } catch {
      // It has ended.
    }
  }
  const isBelow = (pid: number | undefined): boolean =>
    pid !== undefined && (pid === ancestor || isBelow(parents.get(pid)));
  let sum = 0;
  for (const [pid, used] of ticks) if (isBelow(pid)) sum += used;
  return sum / TICKS_PER_SECOND;
}
