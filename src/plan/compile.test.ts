import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { Random, randomMatrix, randomModel } from "../../test/random-plan.ts";
import { type PackedLayout, packedLayout } from "../weights/packed-layout.ts";
import { assignArena } from "./arena.ts";
import { compile } from "./compile.ts";
import { dumpPlan } from "./dump.ts";
import { encodeOps } from "./encode.ts";
import { Graph } from "./graph.ts";
import type { LinearOp } from "./plan.ts";

const random = new Random(1);

/** A layer of a model, small enough to read its plan. */
function smallGraph(kinds: Record<string, string>) {
  const graph = new Graph();
  const x = graph.embed("embedding", 64);
  const n = graph.norm(x, "norm", 1e-5);
  const q = graph.linear(n, "q", 32, "q");
  const k = graph.linear(n, "k", 32, "k");
  const v = graph.linear(n, "v", 32, "v");
  const a = graph.attention(0, q, k, v, { heads: 2, kvHeads: 2, headSize: 16, scale: 0.25 });
  const sum = graph.add(x, graph.linear(a, "o", 64, "o"));
  graph.output = graph.linear(graph.norm(graph.gather(sum), "norm", 1e-5), "embedding", 48, "logits");
  const shapes: Record<string, [number, number]> = {
    embedding: [48, 64],
    q: [32, 64],
    k: [32, 64],
    v: [32, 64],
    o: [64, 32],
  };
  const layouts = new Map(
    Object.entries(shapes).map(([name, [N, K]]) => [
      name,
      packedLayout(randomMatrix(random, kinds[name] ?? "q4_0", N, K), N, name),
    ]),
  );
  return { graph, layouts, lengths: new Map([["norm", 64]]) };
}

describe("compile", () => {
  it("joins linears of one input, fuses the residual in place and quantises once", () => {
    const { graph, layouts, lengths } = smallGraph({});
    const plan = compile(graph, layouts, lengths);
    expect(plan.ops.map((op) => op.op)).toEqual([
      ..."embed norm quantize linear store attention quantize linear gather norm quantize linear".split(" "),
    ]);
    const [qkv, o] = plan.ops.filter((op): op is LinearOp => op.op === "linear");
    expect(qkv!.parts.map((part) => plan.matrices[part.matrix]!.name)).toEqual(["q", "k", "v"]);
    expect(o!.parts[0]!.residual!.offset).toBe(o!.parts[0]!.out.offset);
    expect(plan.matrices.map(({ name }) => name)).toEqual(["embedding", "q", "k", "v", "o"]);
    expect(dumpPlan(plan)).toContain("q[32×64]");
    expect(encodeOps(plan.ops)[0]).toBe(1);
  });

  it("quantises an input once for each activation group, and not for float weights", () => {
    const { graph, layouts, lengths } = smallGraph({ k: "cpu_int4_g64", v: "f16" });
    const plan = compile(graph, layouts, lengths);
    const groups = plan.ops.flatMap((op) => (op.op === "quantize" && op.input.width === 64 ? [op.out.group] : []));
    expect(groups.slice(0, 2)).toEqual([32, 64]);
  });

  it("brings inputs into the order of a matrix's columns, once for each order, before it quantises them", () => {
    const { graph, layouts, lengths } = smallGraph({});
    const reversed = Int32Array.from({ length: 64 }, (_, j) => 63 - j);
    const order = (name: string, inputOrder: Int32Array): void => {
      layouts.set(name, { ...layouts.get(name)!, inputOrder } as PackedLayout);
    };
    order("q", reversed);
    order("v", reversed.slice());
    const plan = compile(graph, layouts, lengths);
    expect(plan.ops.map((op) => op.op).slice(0, 8)).toEqual(
      "embed norm reorder quantize linear quantize linear linear".split(" "),
    );
    expect(dumpPlan(plan)).toContain("in the order of the next matrix's columns");
    order("embedding", reversed);
    expect(() => compile(graph, layouts, lengths)).toThrow(/embedding: an embedding with its numbers out of order/);
  });

  it("waits only where threads share bytes", () => {
    const { graph, layouts, lengths } = smallGraph({});
    const plan = compile(graph, layouts, lengths);
    const waits = plan.ops.map((op) => `${op.sync ? "|" : ""}${op.op}`).join(" ");
    // The last norm waits because it takes the memory of what `gather` reads.
    expect(waits).toBe(
      "embed norm quantize |linear |store |attention |quantize |linear |gather |norm quantize |linear",
    );
  });

  it("refuses weights that are missing or do not fit", () => {
    const { graph, layouts, lengths } = smallGraph({});
    const without = new Map([...layouts].filter(([name]) => name !== "k"));
    expect(() => compile(graph, without, lengths)).toThrow(/k: the model needs this weight/);
    const wrong = new Map([...layouts, ["k", layouts.get("o")!] as const]);
    expect(() => compile(graph, wrong, lengths)).toThrow(/expected \[32, 64\], got \[64, 32\]/);
    expect(() => compile(graph, layouts, new Map([["norm", 63]]))).toThrow(/expected 64, got 63/);
  });

  it("gives every random model a plan whose live buffers do not overlap", () => {
    for (let seed = 1; seed <= 20; seed++) {
      const { plan } = randomModel({ seed });
      for (const op of plan.ops) {
        const outs = op.op === "linear" ? op.parts.map((part) => part.out) : [];
        for (const [i, a] of outs.entries())
          for (const b of outs.slice(i + 1))
            expect(
              a.offset + a.stride * plan.maxRows <= b.offset || b.offset + b.stride * plan.maxRows <= a.offset,
            ).toBe(true);
        if (op.op === "linear")
          for (const out of outs)
            expect(out.offset + out.stride <= op.input.offset || op.input.offset + op.input.stride <= out.offset).toBe(
              true,
            );
      }
    }
  });
});

describe("assignArena", () => {
  it("never lets two that live at once share bytes, and needs no more than all of them", () => {
    const lifetime = fc
      .tuple(fc.integer({ min: 1, max: 20 }), fc.nat(30), fc.nat(10))
      .map(([size, first, length]) => ({ bytes: size * 64, first, last: first + length }));
    fc.assert(
      fc.property(fc.array(lifetime, { maxLength: 40 }), (items) => {
        const { offsets, bytes } = assignArena(items);
        expect(bytes).toBeLessThanOrEqual(items.reduce((sum, item) => sum + item.bytes, 0));
        for (const [i, a] of items.entries())
          for (const b of items.slice(i + 1)) {
            const together = a.first <= b.last && b.first <= a.last;
            const apart = offsets.get(a)! + a.bytes <= offsets.get(b)! || offsets.get(b)! + b.bytes <= offsets.get(a)!;
            expect(!together || apart).toBe(true);
          }
      }),
    );
  });
});
