import { defineConfig, type ViteUserConfig } from "vitest/config";

const config: ViteUserConfig = defineConfig({
  test: {
    include: ["src/**/*.test.ts", "test/**/*.test.ts"],
    globalSetup: ["test/fetch-models.ts"],
    testTimeout: 60_000,
    pool: "forks",
  },
});
export default config;
