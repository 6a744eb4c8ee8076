import { execFileSync } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import type { Server } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { type Browser, chromium } from "playwright-core";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { smollm2Path } from "../models.ts";
import { CHROMIUM, QUIET } from "./chromium.ts";

const root = fileURLToPath(new URL("../..", import.meta.url));
const model = await smollm2Path();
const missing = [!CHROMIUM && "no Chromium", !model && "no SmolLM2"].filter(Boolean).join(", ");

describe.skipIf(missing)(`a page with the built package in Chromium${missing && ` (skipped: ${missing})`}`, () => {
  let folder: string;
  let browser: Browser;
  const servers: Server[] = [];

  beforeAll(async () => {
    folder = mkdtempSync(join(tmpdir(), "halfbyte-page-"));
    const [{ filename }] = JSON.parse(
      execFileSync("npm", ["pack", "--json", "--ignore-scripts", "--pack-destination", folder], {
        cwd: root,
        encoding: "utf8",
      }),
    );
    execFileSync("tar", ["-xf", join(folder, filename), "-C", folder]);
    browser = await chromium.launch({ executablePath: CHROMIUM!, args: [...QUIET] });
  }, 120_000);

  afterAll(async () => {
    await browser?.close();
    for (const server of servers) server.close();
    if (folder) rmSync(folder, { recursive: true });
  });

  async function serve(isolated: boolean): Promise<string> {
    const { pageServer } = await import("../../web/server.mjs");
    const server: Server = pageServer({ model: model!, package: join(folder, "package"), isolated });
    servers.push(server);
    await new Promise<void>((done) => server.listen(0, "127.0.0.1", done));
    return `http://127.0.0.1:${(server.address() as AddressInfo).port}/?maxTokens=16`;
  }

  /** Asks the page's own question and returns the answer with what the page says of it. */
  async function ask(isolated: boolean): Promise<{ answer: string; status: string; errors: string[] }> {
    const page = await browser.newPage();
    const errors: string[] = [];
    page.on("pageerror", (error) => errors.push(String(error)));
    page.on("console", (message) => message.type() === "error" && errors.push(message.text()));
    await page.goto(await serve(isolated));
    await page.waitForFunction(() => !(document.getElementById("ask") as HTMLButtonElement).disabled, null, {
      timeout: 120_000,
    });
    await page.click("#ask");
    await page.waitForFunction(() => document.getElementById("status")?.textContent?.includes("tokens/s"), null, {
      timeout: 120_000,
    });
    const read = (id: string) => page.textContent(`#${id}`).then((text) => text ?? "");
    const result = { answer: await read("answer"), status: await read("status"), errors };
    await page.close();
    return result;
  }

  it("answers with threads where the page is cross-origin isolated, and without where it is not, in the same words", async () => {
    const shared = await ask(true);
    expect(shared.errors).toEqual([]);
    expect(shared.status).toMatch(/16 tokens, .*relaxed-simd, [2-9]\d* threads/);
    expect(shared.answer.length).toBeGreaterThan(20);
    const alone = await ask(false);
    expect(alone.errors).toEqual([]);
    expect(alone.status).toMatch(/relaxed-simd, 1 threads/);
    expect(alone.answer).toBe(shared.answer);
  }, 400_000);
});
