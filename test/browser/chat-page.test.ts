import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync } from "node:fs";
import { mkdir } from "node:fs/promises";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { type Browser, chromium, type Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { MAIN, TINY_MODEL } from "../e2e/command.ts";
import { smollm2Path } from "../models.ts";
import { CHROMIUM, QUIET } from "./chromium.ts";

const missing = [!CHROMIUM && "no Chromium", !existsSync(MAIN) && "npm run build makes it"].filter(Boolean).join(", ");
const smollm2 = await smollm2Path();
/** `HALFBYTE_SCREENSHOTS=1 npx vitest run test/browser/chat-page.test.ts` makes the pictures of docs/server.md anew. */
const pictures = process.env.HALFBYTE_SCREENSHOTS && fileURLToPath(new URL("../../docs/images", import.meta.url));

const QUESTION = "Name three rivers as a list.";

describe.skipIf(missing)(`the chat page in Chromium${missing && ` (skipped: ${missing})`}`, () => {
  let browser: Browser;
  let server: ChildProcess;
  let url: string;

  beforeAll(async () => {
    browser = await chromium.launch({ executablePath: CHROMIUM!, args: [...QUIET] });
    // Named models: the first shown, and one that answers at once.
    const models = [...(smollm2 ? [`smollm2=${smollm2}`] : []), `tiny=${TINY_MODEL}`];
    server = spawn(process.execPath, [MAIN, "serve", ...models, "--port", "0", "--log", "json"], {
      stdio: ["ignore", "ignore", "pipe"],
    });
    url = await addressOf(server);
  }, 120_000);

  afterAll(async () => {
    await browser?.close();
    server?.kill("SIGKILL");
  });

  /** A fresh visitor. `errors` is what the page complains of. */
  async function visit(options: { width: number; height: number; dark?: boolean; offline?: boolean }) {
    const context = await browser.newContext({
      viewport: { width: options.width, height: options.height },
      colorScheme: options.dark ? "dark" : "light",
    });
    // Whatever is not the server's own counts as lost.
    const elsewhere: string[] = [];
    await context.route(
      (to) => to.origin !== new URL(url).origin,
      (route) => {
        elsewhere.push(route.request().url());
        return route.abort();
      },
    );
    const page = await context.newPage();
    const errors: string[] = [];
    page.on("pageerror", (error) => errors.push(String(error)));
    page.on("console", (message) => message.type() === "error" && errors.push(message.text()));
    await page.goto(url);
    await expect.poll(() => page.getByLabel("Model").locator("option").count()).toBeGreaterThan(0);
    return { page, errors, elsewhere, close: () => context.close() };
  }

  async function ask(page: Page, question: string): Promise<void> {
    await page.getByLabel("Your message").fill(question);
    await page.keyboard.press("Enter");
  }

  const answered = (page: Page, count = 1): Promise<void> =>
    page
      .locator("li.assistant[aria-busy=false] .tools button")
      .nth(3 * count - 1)
      .waitFor({ timeout: 60_000 });

  async function picture(page: Page, name: string): Promise<void> {
    if (!pictures) return;
    await mkdir(pictures, { recursive: true });
    await page.screenshot({ path: join(pictures, name) });
  }

  it("answers by keyboard alone, tells speed and load, and shows what the tokens' rivals were", async () => {
    const { page, errors, elsewhere, close } = await visit({ width: 1280, height: 800 });
    await ask(page, QUESTION);
    await answered(page);
    const answer = page.locator("li.assistant");
    await expect
      .poll(() => answer.locator(".note").textContent())
      .toMatch(/^\d+ tokens · [\d.]+ tokens\/s · first token/);
    expect((await answer.locator(".body").textContent())?.trim()).not.toBe("");
    // Screen readers hear the answer once, when it is complete.
    expect((await page.locator("#announcer").textContent())?.trim()).not.toBe("");
    // Wide screens show the load from the start.
    await expect.poll(() => page.locator("#plots canvas").count()).toBe(2);
    await expect.poll(() => page.locator("#load-text").textContent()).toMatch(/0 running, 0 waiting/);
    await page.getByRole("button", { name: "Tokens" }).focus();
    await page.keyboard.press("Enter");
    await answer.locator(".tokens span").first().focus();
    await page.keyboard.press("ArrowRight");
    expect(await page.locator("#odds").isVisible()).toBe(true);
    expect(await page.locator("#odds .odd").count()).toBeGreaterThanOrEqual(5);
    expect(await page.locator("#odds .chosen").count()).toBe(1);
    await picture(page, "chat-desktop.png");
    expect({ errors, elsewhere }).toEqual({ errors: [], elsewhere: [] });
    await close();
  });

  it("fits a phone, in the dark", async () => {
    const { page, errors, close } = await visit({ width: 390, height: 780, dark: true });
    await ask(page, QUESTION);
    await answered(page);
    const overflow = await page.evaluate(() => document.documentElement.scrollWidth - innerWidth);
    expect(overflow).toBe(0);
    await picture(page, "chat-phone.png");
    await page.getByRole("button", { name: "Settings" }).click();
    expect(await page.getByLabel("Temperature").isVisible()).toBe(true);
    expect(errors).toEqual([]);
    await close();
  });

  it("stops at Escape, tries again, and starts over", async () => {
    const { page, errors, close } = await visit({ width: 1280, height: 800 });
    await page.getByLabel("Model").selectOption(smollm2 ? "smollm2" : "tiny");
    // Nothing but this request would end: the end tokens cannot come.
    await page.route("**/v1/chat/completions", (route) => {
      const body = route.request().postDataJSON();
      return route.continue({ postData: JSON.stringify({ ...body, logit_bias: { 2: -100, 0: -100 } }) });
    });
    await ask(page, "Count from one to ten thousand.");
    await expect.poll(() => page.locator("li.assistant .body").textContent()).not.toBe("");
    await page.keyboard.press("Escape");
    await answered(page);
    expect(await page.locator("li.assistant .note").textContent()).toMatch(/stopped|limit/);
    await page.getByRole("button", { name: "Retry" }).click();
    await expect.poll(() => page.locator("li.assistant[aria-busy=true]").count()).toBe(1);
    await page.getByRole("button", { name: "Stop" }).click();
    await answered(page);
    expect(await page.locator("li.user").count()).toBe(1);
    await page.keyboard.press("Control+Shift+O");
    expect(await page.locator("#messages li").count()).toBe(0);
    expect(errors).toEqual([]);
    await close();
  });

  it("says what the server refuses, and lets nothing that a model writes run or be fetched", async () => {
    const { page, elsewhere, close } = await visit({ width: 1280, height: 800 });
    const wild = [
      "<img src=x onerror=\"document.title='run'\">",
      "<script>document.title='run'</script>",
      "![p](https://example.invalid/p.png) [l](javascript:document.title='run') **bold** [ok](https://example.invalid/)",
    ].join("\n\n");
    await page.route("**/v1/chat/completions", (route) =>
      route.fulfill({
        headers: { "content-type": "text/event-stream" },
        body: `data: ${JSON.stringify({ choices: [{ delta: { content: wild } }] })}\n\ndata: [DONE]\n\n`,
      }),
    );
    await ask(page, "Hello");
    await expect.poll(() => page.locator("li.assistant strong").textContent()).toBe("bold");
    expect(await page.locator("li.assistant img, li.assistant script").count()).toBe(0);
    const links = page.locator("li.assistant a[href]");
    expect(await links.evaluateAll((all) => all.map((a) => a.getAttribute("href")))).toEqual([
      "https://example.invalid/",
    ]);
    expect(await page.title()).toBe("Halfbyte");
    expect(elsewhere).toEqual([]);
    await page.unroute("**/v1/chat/completions");
    await ask(page, "x ".repeat(30_000));
    const refusal = page.locator("li.assistant .note.error").last();
    await expect.poll(() => refusal.textContent()).toMatch(/context/);
    await expect.poll(() => refusal.evaluate((note) => note.getBoundingClientRect().bottom <= innerHeight)).toBe(true);
    // The conversation goes on without what was refused.
    await ask(page, "Hello again");
    const note = page.locator("li.assistant .note").last();
    await expect.poll(() => note.textContent(), { timeout: 60_000 }).toMatch(/^\d+ tokens/);
    await close();
  });
});

/** Where the server listens, by its log. */
async function addressOf(server: ChildProcess): Promise<string> {
  const lines: string[] = [];
  const ended = once(server, "exit").then(() => {
    throw new Error(`the server ended: ${lines.join("\n")}`);
  });
  const found = (async () => {
    for await (const line of createInterface({ input: server.stderr! })) {
      lines.push(line);
      const url = /"url":"(http:[^"]+)"/.exec(line)?.[1];
      if (url) return url;
    }
    throw new Error(lines.join("\n"));
  })();
  const url = await Promise.race([found, ended]);
  server.stderr!.resume();
  return url;
}
