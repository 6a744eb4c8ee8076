import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, it } from "vitest";
import { evaluateCommand } from "./evaluate.ts";

it.each([
  [join(tmpdir(), "no-such-folder", "p.svg"), /cannot write the picture: ENOENT: no such file or directory$/],
  ["p.png", /^--picture: .*ends in \.svg, got p\.png$/],
])("--picture %s is refused before a model is opened", async (picture, message) => {
  const evaluating = evaluateCommand(["none"], { against: "none", picture }, new AbortController().signal);
  await expect(evaluating).rejects.toThrow(message);
});
