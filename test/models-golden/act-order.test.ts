import { fileURLToPath } from "node:url";
import { describe, expect, it } from "vitest";
import { relativeError } from "../../src/evaluate/layer-states.ts";
import { wasmExecutorWith } from "../../src/executors/wasm/wasm.ts";
import { encodeCompressed } from "../../src/formats/encodings/compressed-tensors.ts";
import type { OrderedMatrix } from "../../src/formats/encodings/form.ts";
import { encodeGptq } from "../../src/formats/encodings/gptq.ts";
import { newTensor, type Tensor } from "../../src/formats/encodings/tensors.ts";
import { type OpenModel, openModel } from "../../src/models/open-model.ts";
import type { QuantizedMatrix } from "../../src/weights/quantized-matrix.ts";
import { takeRows } from "../../src/weights/slice-matrix.ts";
import { weightsOf } from "../encodings.ts";
import { Random } from "../random-plan.ts";
import { A16_TOLERANCE, expectGolden } from "./check-model.ts";
import { folderFromGguf } from "./folder-from-gguf.ts";
import { load, Sequence } from "./run-model.ts";

const golden = (name: string): string => fileURLToPath(new URL(`../golden/${name}`, import.meta.url));

type Encode = (ordered: OrderedMatrix) => object;

const ENCODINGS: [name: string, config: object, encode: Encode][] = [
  [
    "GPTQ with desc_act",
    { quant_method: "gptq", bits: 4, group_size: 32, sym: true, desc_act: true },
    (m) => encodeGptq(m, "v1"),
  ],
  [
    "compressed-tensors with actorder",
    {
      quant_method: "compressed-tensors",
      format: "pack-quantized",
      config_groups: {
        group_0: {
          targets: ["Linear"],
          weights: { num_bits: 4, group_size: 32, strategy: "group", actorder: "group" },
        },
        group_1: { targets: ["Embedding"], weights: { num_bits: 8, group_size: 32, strategy: "group" } },
      },
    },
    encodeCompressed,
  ],
];

/** How the columns of a matrix stand, by its name; undefined for the plain order. */
type Order = (name: string, K: number) => Int32Array | undefined;

/** Groups of 32 in another order, each with the inputs that it had: weights stay what they are. */
const groupsReversed: Order = (_, K) =>
  Int32Array.from({ length: K }, (_, j) => K - 32 * Math.floor(j / 32 + 1) + (j % 32));

function shuffled(seed: number, K: number): Int32Array {
  const random = new Random(seed);
  const order = Int32Array.from({ length: K }, (_, k) => k);
  for (let k = K - 1; k > 0; k--) {
    const other = random.below(k + 1);
    [order[k], order[other]] = [order[other]!, order[k]!];
  }
  // Inputs ascend in a group, as an index of groups has them.
  for (let k = 0; k < K; k += 32) order.subarray(k, k + 32).sort();
  return order;
}

const SEEDS: Record<string, number> = { q: 1, k: 1, v: 2, o: 3, gate: 4, up: 4, down: 5 };

/** q and k share an order, and gate and up; v, o and down have their own. */
const anyOrder: Order = (name, K) => shuffled(SEEDS[/(\w+)_proj/.exec(name)![1]!]!, K);

const isEmbedding = (name: string): boolean => name.includes("embed");

/** Takes what the tensors of a matrix are to be made from. */
type Change = (matrix: QuantizedMatrix, name: string) => OrderedMatrix;

async function open(config: object, encode: Encode, change: Change): Promise<OpenModel> {
  const folder = await folderFromGguf(golden("llama-q4_0.gguf"), "llama", {
    quantized: {
      config,
      encode: (matrix, name) => encode(isEmbedding(name) ? { matrix } : change(matrix, name)) as Record<string, Tensor>,
    },
  });
  return openModel(folder);
}

const ordered =
  (order: Order): Change =>
  (matrix, name) => {
    const inputOrder = order(name, matrix.K);
    return inputOrder ? { matrix, inputOrder } : { matrix };
  };

const IDS = [5, 7, 11, 13, 17, 19, 23, 29, 31];
const A16 = { activations: "a16", cacheType: "f32", maxRows: 16, maxLogitRows: 16 } as const;
const logits = async (model: OpenModel): Promise<Float32Array> => (await load(model, 16, A16)).feed(IDS, "all");

describe.each(ENCODINGS)("%s", (_, config, encode) => {
  it("gives the truth's logits and text where groups alone are in another order", async () => {
    const change: Change = (matrix, name) => {
      // The column that an input stands at moves with its group, and so do its codes.
      const order = groupsReversed(name, matrix.K)!;
      const codes = matrix.codes.map((_, i) => matrix.codes[i - (i % matrix.K) + order[i % matrix.K]!]!);
      const groups = matrix.K / 32;
      const values = (matrix.scale as { values: Uint16Array }).values.map(
        (_, i, all) => all[i - (i % groups) + groups - 1 - (i % groups)]!,
      );
      return { matrix: { ...matrix, codes, scale: { kind: "f16", values } }, inputOrder: order };
    };
    const model = await open(config, encode, change);
    expect(model.notes).toEqual([]);
    expect(model.compile().ops.some((op) => op.op === "reorder")).toBe(true);
    await expectGolden(model, golden("llama-q4_0.golden.safetensors"), A16_TOLERANCE);
  });

  it("gives what the same weights give as floats, whatever the orders of the matrices of a layer", async () => {
    const floats: Encode = ({ matrix, inputOrder }) => ({
      weight: newTensor("F32", [matrix.N, matrix.K], weightsOf(matrix, inputOrder)),
    });
    const model = await open(config, encode, ordered(anyOrder));
    const truth = await logits(await open({ ...config }, floats, ordered(anyOrder)));
    const plain = await logits(
      await open(
        config,
        encode,
        ordered(() => undefined),
      ),
    );
    const got = await logits(model);
    expect(relativeError(got, truth)).toBeLessThan(A16_TOLERANCE);
    expect(relativeError(plain, truth)).toBeGreaterThan(0.1);

    const plan = model.compile(A16);
    const runner = await wasmExecutorWith({ inline: true }).load(plan, model.weights, { threads: 1 });
    runner.ensureBlocks(1);
    expect(await new Sequence(runner, 1).feed(IDS, "all")).toEqual(got);
    await runner.dispose();
  });

  it("gives the bits of a model whose inner numbers stand in the order of down's columns", async () => {
    const order = (K: number): Int32Array => shuffled(3, K);
    const down: Order = (name, K) => (name.includes("down_proj") ? order(K) : undefined);
    const moved: Change = (matrix, name) => ({
      matrix: /gate_proj|up_proj/.test(name) ? (takeRows(matrix, order(matrix.N)) as QuantizedMatrix) : matrix,
    });
    const got = await logits(await open(config, encode, ordered(down)));
    expect(got).toEqual(await logits(await open(config, encode, moved)));
    expect(got).not.toEqual(
      await logits(
        await open(
          config,
          encode,
          ordered(() => undefined),
        ),
      ),
    );
  });
});
