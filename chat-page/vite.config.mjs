import { defineConfig } from "vite";

/** The page that `halfbyte serve` shows: three files beside the server's own, nothing from elsewhere. */
export default defineConfig({
  root: import.meta.dirname,
  base: "./",
  logLevel: "warn",
  build: {
    outDir: "../dist/server/page",
    emptyOutDir: true,
    target: "es2023",
    license: { fileName: "licenses.md" },
    assetsInlineLimit: 0,
  },
});
