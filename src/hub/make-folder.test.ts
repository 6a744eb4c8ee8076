import { existsSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, it } from "vitest";
import { makeFolder } from "./make-folder.ts";

it("makes folders above, minds none that exists, and fails where none can be", async () => {
  const root = mkdtempSync(join(tmpdir(), "halfbyte-folder-"));
  await makeFolder(join(root, "a/b/c"));
  await makeFolder(join(root, "a/b/c"));
  expect(existsSync(join(root, "a/b/c"))).toBe(true);
  writeFileSync(join(root, "file"), "");
  await expect(makeFolder(join(root, "file/inside"))).rejects.toThrow(/ENOTDIR/);
  rmSync(root, { recursive: true });
});

it.skipIf(!existsSync("/proc/self"))("ends with an error under /proc, where Node's own would not end", async () => {
  await expect(makeFolder("/proc/halfbyte-nowhere/models")).rejects.toThrow(/ENOENT/);
});
