import { fileURLToPath } from "node:url";
import { describe, expect, it } from "vitest";
import { liveServer, loadTiny, until } from "./live-server.ts";
import { pythonWith } from "./python-packages.ts";

const python = pythonWith(["openai==3.57.0"]);

describe.skipIf(!python)("the official openai client for Python (needs python3 and its package)", () => {
  it("streams, calls tools, gives JSON by a schema, throws errors and cancels", async () => {
    await using model = await loadTiny();
    await using server = await liveServer([model], { apiKeys: ["secret"] });
    const suite = fileURLToPath(new URL("./openai_client.py", import.meta.url));
    const { code, output } = await python!([suite], {
      OPENAI_BASE_URL: `${server.url}/v1`,
      OPENAI_API_KEY: "secret",
    });
    expect(output).toContain("all passed");
    expect(code).toBe(0);
    await until(() => model.stats.running === 0 && model.stats.blocksInUse === 0);
  }, 120_000);
});
