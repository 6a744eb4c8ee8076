import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { cacheFolder } from "./cache-folder.ts";
import { hubEndpoint, hubToken, isHubOffline, isOffline } from "./environment.ts";

const posix = process.platform !== "win32";

describe("cacheFolder", () => {
  it.skipIf(!posix)("takes HALFBYTE_CACHE, else the XDG folder, else the system's own", () => {
    const home = { HOME: "/home/me" };
    const system = process.platform === "darwin" ? "/home/me/Library/Caches/halfbyte" : "/home/me/.cache/halfbyte";
    expect(cacheFolder({ ...home, HALFBYTE_CACHE: "/data/models", XDG_CACHE_HOME: "/xdg" })).toBe("/data/models");
    expect(cacheFolder({ ...home, HALFBYTE_CACHE: "", XDG_CACHE_HOME: "/xdg" })).toBe(join("/xdg", "halfbyte"));
    expect(cacheFolder({ ...home, XDG_CACHE_HOME: "relative" })).toBe(system);
    expect(cacheFolder(home)).toBe(system);
  });

  it.each(["relative", "~/models", "./x", "/x\0y"])("refuses HALFBYTE_CACHE=%j", (value) => {
    expect(() => cacheFolder({ HALFBYTE_CACHE: value })).toThrow(expect.objectContaining({ code: "ERR_ARGUMENT" }));
  });
});

describe("the environment", () => {
  it("says whether to stay offline", () => {
    expect([undefined, "", "0", "false", "No"].map((value) => isOffline({ HALFBYTE_OFFLINE: value }))).toEqual(
      Array(5).fill(false),
    );
    expect(["1", "TRUE", "yes", "on"].every((value) => isOffline({ HALFBYTE_OFFLINE: value }))).toBe(true);
    expect(isHubOffline({ HF_HUB_OFFLINE: "ON" })).toBe(true);
    expect(isHubOffline({})).toBe(false);
  });

  it("keeps the path of a hub's mirror", () => {
    expect(hubEndpoint({}).href).toBe("https://huggingface.co/");
    expect(hubEndpoint({ HF_ENDPOINT: "https://mirror.example/hub" }).href).toBe("https://mirror.example/hub/");
  });

  it("gives no token to a mirror that would get it in clear text", async () => {
    const environment = { HOME: "/nonexistent", HF_TOKEN: " hf_x \n" };
    expect(await hubToken(environment, new URL("https://mirror.example/"))).toBe("hf_x");
    expect(await hubToken(environment, new URL("http://127.0.0.1:8080/"))).toBe("hf_x");
    expect(await hubToken(environment, new URL("http://mirror.example/"))).toBeUndefined();
    expect(await hubToken({ HOME: "/nonexistent" }, new URL("https://mirror.example/"))).toBeUndefined();
  });
});
