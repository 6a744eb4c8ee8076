import type { AddressInfo } from "node:net";
import { createServer } from "node:net";
import { expect, it } from "vitest";
import { FileServer } from "../../test/file-server.ts";
import { httpGet, readJson, retryAfterMs } from "./http.ts";

it("gives up on a server that accepts but never finishes connecting", async () => {
  const silent = createServer(() => {});
  await new Promise<void>((resolve) => silent.listen(0, "127.0.0.1", resolve));
  const url = new URL(`https://127.0.0.1:${(silent.address() as AddressInfo).port}/`);
  const started = performance.now();
  const refused = httpGet({ url, connectTimeoutMs: 200 });
  await expect(refused).rejects.toMatchObject({ code: "ERR_NETWORK", message: expect.stringContaining("time limit") });
  expect(performance.now() - started).toBeLessThan(2000);
  silent.close();
});

it("follows no more than ten redirects", async () => {
  const server = await new FileServer().start();
  server.route("/loop", (_, response) => response.writeHead(302, { location: "/loop" }).end());
  await expect(httpGet({ url: server.url("/loop") })).rejects.toThrow("more than 10 redirects");
  expect(server.requests).toHaveLength(11);
  await server.stop();
});

it("reads no more JSON than it was told to", async () => {
  const server = await new FileServer().start();
  server.json("/list", "x".repeat(1000));
  server.route("/text", (_, response) => response.end("<html>"));
  const get = async (path: string, limit: number): Promise<unknown> =>
    readJson(await httpGet({ url: server.url(path) }), limit);
  expect(await get("/list", 2000)).toBe("x".repeat(1000));
  await expect(get("/list", 500)).rejects.toMatchObject({ code: "ERR_LIMIT" });
  await expect(get("/text", 500)).rejects.toMatchObject({ code: "ERR_NETWORK" });
  await server.stop();
});

it("understands both forms of Retry-After", () => {
  expect(retryAfterMs({ "retry-after": "7" })).toBe(7000);
  expect(retryAfterMs({ "retry-after": new Date(Date.now() - 5000).toUTCString() })).toBe(0);
  expect(retryAfterMs({ "retry-after": "soon" })).toBeUndefined();
  expect(retryAfterMs({})).toBeUndefined();
});
