import { describe, expect, it } from "vitest";
import { Guard } from "./guard.ts";

const request = (headers: Record<string, string>): Request =>
  new Request("http://localhost:8000/v1/models", { headers });
const open = new Guard({});

describe("the guard", () => {
  it.each(["localhost", "localhost:8000", "LOCALHOST:1", "127.0.0.1:8000", "[::1]:8000", "localhost."])(
    "answers to the name %s",
    (host) => {
      expect(() => open.checkOrigin(request({ host }))).not.toThrow();
    },
  );

  it.each(["rebound.example", "127.0.0.1.example", "localhost.example:8000", "0.0.0.0", "", "localhost@example"])(
    "answers to no such name as %j",
    (host) => {
      expect(() => open.checkOrigin(request({ host }))).toThrow(expect.objectContaining({ code: "host_not_allowed" }));
    },
  );

  it("takes origins as people write them, and refuses what is none", () => {
    for (const written of ["http://good.example/", "HTTP://Good.example:80", " http://good.example"]) {
      const guard = new Guard({ corsOrigins: [written] });
      expect(guard.allowsOrigin("http://good.example")).toBe(true);
    }
    expect(new Guard({ corsOrigins: ["tauri://localhost"] }).allowsOrigin("tauri://localhost")).toBe(true);
    for (const wrong of ["notanorigin", "", "http://", "http://good.example/path", "http://*.example", "http://a b"])
      expect(() => new Guard({ corsOrigins: [wrong] })).toThrow(expect.objectContaining({ code: "ERR_ARGUMENT" }));
  });

  it("lets pages of its own origin and of those allowed call, and no others", () => {
    const guard = new Guard({ corsOrigins: ["https://page.example"] });
    const from = (origin: string) => () => guard.checkOrigin(request({ host: "localhost:8000", origin }));
    expect(from("http://localhost:8000")).not.toThrow();
    expect(from("https://page.example")).not.toThrow();
    for (const origin of ["http://localhost:3000", "https://page.example.other", "null", "http://page.example"])
      expect(from(origin)).toThrow(expect.objectContaining({ code: "origin_not_allowed" }));
  });

  it("needs one of its keys, by either header", async () => {
    const guard = new Guard({ apiKeys: ["first", "second"] });
    await guard.checkKey(request({ authorization: "Bearer first" }));
    await guard.checkKey(request({ authorization: "bearer  second " }));
    await guard.checkKey(request({ "x-api-key": "second" }));
    await expect(guard.checkKey(request({}))).rejects.toMatchObject({ status: 401, code: "missing_api_key" });
    for (const key of ["firs", "first2", "First", "undefined"])
      await expect(guard.checkKey(request({ "x-api-key": key }))).rejects.toMatchObject({ code: "invalid_api_key" });
    await expect(guard.checkKey(request({ authorization: "Basic first" }))).rejects.toMatchObject({ status: 401 });
  });

  it("with a key is called by any name", () => {
    const guard = new Guard({ apiKeys: ["key"] });
    expect(() => guard.checkOrigin(request({ host: "models.example" }))).not.toThrow();
  });
});
