import { readFileSync } from "node:fs";
import { dirname, relative, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { describe, expect, it } from "vitest";

const source = fileURLToPath(new URL("../src", import.meta.url));

/** Modules that importing `entries` loads, without what is imported later by import(). */
function modules(...entries: string[]): string[] {
  const found = new Set<string>();
  const visit = (path: string): void => {
    if (found.has(path)) return;
    found.add(path);
    for (const [, from] of readFileSync(path, "utf8").matchAll(/^(?:import|export) (?!type )[^;]*?from "(\..+?)";$/gms))
      visit(resolve(dirname(path), from!));
  };
  for (const entry of entries) visit(resolve(source, entry));
  return [...found].map((path) => relative(source, path));
}

// Node takes some 0.6 ms for a module, and a first token waits for all that are imported before it. These are not limits
// of nature: raise one when what is added is needed before the first token of a GGUF file, else import it where it is used.
describe("modules imported", () => {
  it("are few for the package itself", () => {
    expect(modules("index.ts")).toEqual(["index.ts", "errors.ts"]);
  });

  it("are few before threads start", () => {
    expect(modules("with-executor.ts").length).toBeLessThanOrEqual(30);
  });

  it("are for a GGUF only what it needs", () => {
    const all = modules("with-executor.ts", "load-model-node.ts", "make-model.ts");
    expect(all.length).toBeLessThanOrEqual(160);
    const others =
      /safetensors|encodings|hugging-face-(tokenizer|pipeline|folder)|executors\/reference|evaluate|^server|^quantize|^cli/;
    expect(all.filter((path) => others.test(path))).toEqual([]);
  });

  it("are few before the command line can help", () => {
    expect(modules("cli/main.ts").length).toBeLessThanOrEqual(15);
  });
});
