// Runs a TypeScript file of this folder, on any Node the project supports: `node bench/run.mjs FILE [arguments]`.
import { fileURLToPath } from "node:url";
import { createServer } from "vite";

const [file] = process.argv.splice(2, 1);
if (!file) throw new Error("usage: node bench/run.mjs FILE.ts [arguments]");
const vite = await createServer({
  root: fileURLToPath(new URL("..", import.meta.url)),
  configFile: false,
  appType: "custom",
  optimizeDeps: { noDiscovery: true },
  server: { middlewareMode: true, watch: null, hmr: false, ws: false },
});
try {
  const { main } = await vite.ssrLoadModule(file);
  await main();
} finally {
  await vite.close();
}
