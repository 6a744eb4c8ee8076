// `npm run test:schemathesis`: property-based requests, made from the server's own OpenAPI, against a live server.
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { ModelPool } from "../../src/server/index.ts";
import { liveServer, loadTiny } from "./live-server.ts";
import { pythonWith } from "./python-packages.ts";

const CONFIG = fileURLToPath(new URL("./schemathesis.toml", import.meta.url));
const HOOKS = fileURLToPath(new URL("./schemathesis_checks.py", import.meta.url));

export async function main(): Promise<void> {
  const { values } = parseArgs({
    options: { examples: { type: "string", default: "50" }, seed: { type: "string" }, seconds: { type: "string" } },
  });
  const python = pythonWith(["schemathesis==4.32.5"]);
  if (!python) return;
  const pool = new ModelPool([{ name: "tiny", load: () => loadTiny({ contextLength: 64 }) }]);
  const server = await liveServer(pool);
  try {
    const { code, output } = await python(
      [
        "-m",
        "schemathesis.cli",
        "--config-file",
        CONFIG,
        "run",
        `${server.url}/openapi.json`,
        "--phases=coverage,fuzzing",
        `--max-examples=${values.examples}`,
        ...(values.seed === undefined ? [] : [`--seed=${values.seed}`]),
        ...(values.seconds === undefined ? [] : [`--max-time=${values.seconds}`]),
      ],
      { SCHEMATHESIS_HOOKS: HOOKS },
    );
    console.log(output);
    if (code !== 0) throw new Error("schemathesis found something");
  } finally {
    await server[Symbol.asyncDispose]();
    await pool.dispose();
  }
}
