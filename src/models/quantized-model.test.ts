import { describe, expect, it } from "vitest";
import { encoders, folder, open, Q } from "../../test/damaged-folder.ts";
import { mutate, seededRandom } from "../../test/mutate.ts";
import { filesOf, openFiles } from "../../test/quantized-folder.ts";
import { HalfbyteError } from "../errors.ts";
import { openModel } from "./open-model.ts";

describe.each(Object.keys(encoders))("a folder quantised as %s", (encoding) => {
  it("opens without a remark, all matrices quantised and none left over", async () => {
    const model = await open(folder(encoding));
    expect(model.notes).toEqual(encoding === "int-quantized" ? [expect.stringMatching(/^activations are/)] : []);
    expect(model.weights.unused).toEqual([]);
    const layout = model.weights.layouts.get(`${Q}.weight`)!;
    expect(layout).toMatchObject({
      kind: "quantized",
      N: 64,
      K: 64,
      groupSize: 32,
      bits: encoding === "int-quantized" ? 8 : 4,
    });
  });

  it("opens by its tensors alone where no configuration speaks of them, and says so", async () => {
    const written = folder(encoding);
    delete written.config.quantization_config;
    expect((await open(written)).notes).toEqual([expect.stringMatching(/^no configuration says/)]);
  });

  it("trusts the tensors' group size over the configuration's, and says so", async () => {
    const written = folder(encoding);
    const config = JSON.stringify(written.config).replace('"group_size":32', '"group_size":16');
    const { notes } = await open({ ...written, config: JSON.parse(config) });
    expect(notes.at(-1)).toMatch(/^groups of 32, not 16 as the configuration has it: model.layers.0.* and 4 more$/);
  });

  it("opens, or throws a typed error, whatever is changed in the file", async () => {
    const random = seededRandom(5);
    const files = filesOf(folder(encoding));
    const bytes = files.get("model.safetensors")!;
    const head = bytes.slice(0, 8 + Number(new DataView(bytes.buffer).getBigUint64(0, true)));
    let opened = 0;
    for (let i = 0; i < 240; i++) {
      const damaged = new Map(files);
      if (i % 3 === 0) damaged.set("config.json", mutate(files.get("config.json")!, random));
      else if (i % 3 === 1) {
        const header = mutate(head, random);
        damaged.set("model.safetensors", new Uint8Array([...header, ...bytes.subarray(head.length)]));
      } else {
        const changed = bytes.slice();
        for (let n = 0; n < 30; n++) {
          const at = head.length + Math.floor(random() * (bytes.length - head.length));
          changed[at] = Math.floor(random() * 256);
        }
        damaged.set("model.safetensors", changed);
      }
      try {
        const model = await openModel(await openFiles(damaged));
        model.compile();
        for (const name of model.weights.layouts.keys()) await model.weights.matrix(name).readRows(0, 16);
        opened++;
      } catch (error) {
        if (!(error instanceof HalfbyteError)) throw error;
      }
    }
    expect(opened).toBeGreaterThan(0);
  });
});
