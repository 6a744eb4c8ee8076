// `npm run test:sanitizers`: the native executor's conformance suite with the address and undefined-behaviour sanitizers
// in the addon, and its thread pool under ThreadSanitizer. Needs g++ or clang++ with their runtimes.
import { execFileSync, spawnSync } from "node:child_process";
import { existsSync, mkdirSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

const root = fileURLToPath(new URL("../..", import.meta.url));
const compiler =
  process.env.CXX ?? ["c++", "g++", "clang++"].find((name) => spawnSync(name, ["--version"]).status === 0);
if (!compiler) throw new Error("no C++ compiler");
const run = (command, args, env = {}) =>
  execFileSync(command, args, { cwd: root, stdio: "inherit", env: { ...process.env, ...env } });

const poolTest = join(root, "build/native-threads/pool-threads");
mkdirSync(join(root, "build/native-threads"), { recursive: true });
const sources = ["test/native/pool-threads.cc", "native/pool.cc"];
run(compiler, ["-std=c++20", "-O1", "-g", "-fsanitize=thread", "-pthread", ...sources, "-o", poolTest]);
run(poolTest, [], { TSAN_OPTIONS: "halt_on_error=1" });

run(process.execPath, ["tools/build-native.mjs", "--sanitize", "--require"]);
const folder = join(root, "build/native-sanitized");
const addon = join(
  folder,
  readdirSync(folder).find((name) => name.endsWith(".node")),
);
run(process.execPath, ["node_modules/vitest/vitest.mjs", "run", "--testTimeout=300000", ...suites()], {
  HALFBYTE_ADDON: addon,
  HALFBYTE_SANITIZED: "1",
  // The runtime must come before all else in a program that was built without it.
  LD_PRELOAD: runtime(),
  // Node keeps what it has at the end; that is no leak of the addon's, which test/native/leaks.test.ts looks for.
  ASAN_OPTIONS: "detect_leaks=0:abort_on_error=1:detect_stack_use_after_return=1",
  UBSAN_OPTIONS: "print_stacktrace=1",
});

function suites() {
  return ["conformance", "kept-values", "lifecycle", "pack"].map((name) => `test/native/${name}.test.ts`);
}

function runtime() {
  for (const name of ["libasan.so", "libclang_rt.asan-x86_64.so", "libclang_rt.asan-aarch64.so"]) {
    const path = execFileSync(compiler, [`-print-file-name=${name}`], { encoding: "utf8" }).trim();
    if (existsSync(path)) return path;
  }
  throw new Error(`${compiler} has no address sanitizer`);
}
