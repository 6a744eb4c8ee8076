import { defineConfig, type ViteUserConfig } from "vitest/config";

// Relaxed SIMD is behind a flag in Node 20, and needs none later, where the flag is unknown.
const execArgv = process.versions.node.startsWith("20.") ? ["--experimental-wasm-relaxed-simd"] : [];

const config: ViteUserConfig = defineConfig({
  test: {
    include: ["src/**/*.test.ts", "test/**/*.test.ts"],
    globalSetup: ["test/fetch-models.ts"],
    testTimeout: 60_000,
    pool: "forks",
    reporters: ["default", "./tools/closing-line.ts"],
    execArgv,
  },
});
export default config;
