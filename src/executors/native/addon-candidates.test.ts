import { describe, expect, it } from "vitest";
import { addonCandidates, loadFirst } from "./addon-candidates.ts";

describe("the addon", () => {
  it("is looked for in the clone's build, then in the platform's package", () => {
    const places = addonCandidates("linux-x64-musl", "").map(({ place }) => place);
    expect(places).toEqual([
      expect.stringMatching(/build.native.halfbyte-linux-x64-musl\.node$/),
      "halfbyte-linux-x64-musl/halfbyte.node",
    ]);
    expect(addonCandidates(undefined, "/a.node")).toEqual([{ place: "/a.node", remedy: "unset HALFBYTE_ADDON" }]);
    expect(addonCandidates("aix-ppc64", "")[1]!.remedy).toMatch(/no package is made for aix-ppc64/);
  });

  it("that loads nowhere is one error with every place, what failed there, and its remedy", () => {
    const candidates = [...addonCandidates("linux-x64-none", ""), { place: import.meta.filename, remedy: "a binary" }];
    let message = "";
    try {
      loadFirst(candidates);
    } catch (error) {
      expect(error).toMatchObject({ code: "ERR_EXECUTOR" });
      message = (error as Error).message;
    }
    const lines = message.split("\n");
    expect(lines[0]).toBe("its addon does not load from any of 3 places");
    for (const [i, { place, remedy }] of candidates.entries()) {
      expect(lines[i + 1]).toContain(`${place}: `);
      expect(lines[i + 1]).toContain(`remedy: ${remedy}`);
    }
    expect(lines).toHaveLength(4);
  });

  it("is the first that loads", () => {
    const candidates = [
      { place: "/nowhere/a.node", remedy: "" },
      { place: "node:path", remedy: "" },
    ];
    expect(loadFirst(candidates)).toHaveProperty("join");
  });
});
