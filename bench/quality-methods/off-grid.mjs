// Takes a llama-like float GGUF off the grid that it was quantised to, and leaves what it computes as it is.
//
// Columns of a matrix behind a norm are multiplied by random factors, and the norm's weights are divided by the same; so
// are rows of v and up, and the columns of o and down that meet them. The function stays (to f32 rounding), while no group
// of a row has 16 equidistant values any more.

import { changeTensors, readFloatGguf } from "./float-gguf.mjs";

/** Factors from 1/MOST to MOST, as even on a logarithmic scale as the generator is. */
const MOST = 1.25;

export async function takeOffGrid(path) {
  const facts = await readFloatGguf(path);
  const { layers, heads, kvHeads } = facts;
  const random = seeded(1);
  await changeTensors(facts, async ({ read, write }) => {
    const scaleColumns = async (norm, matrices) => {
      const { values: weights } = await read(norm);
      const of = factors(weights.length, random);
      await write(
        norm,
        weights.map((w, k) => w / of[k]),
      );
      for (const name of matrices) {
        const { values, K } = await read(name);
        await write(
          name,
          values.map((w, i) => w * of[i % K]),
        );
      }
    };
    for (let l = 0; l < layers; l++) {
      const name = (end) => `blk.${l}.${end}.weight`;
      await scaleColumns(name("attn_norm"), ["attn_q", "attn_k", "attn_v"].map(name));
      await scaleColumns(name("ffn_norm"), ["ffn_gate", "ffn_up"].map(name));
      const v = await read(name("attn_v"));
      const headSize = v.N / kvHeads;
      const ofV = factors(v.N, random);
      const ofQuery = Float64Array.from({ length: heads * headSize }, (_, i) => {
        const head = Math.floor(i / headSize);
        return ofV[Math.floor(head / (heads / kvHeads)) * headSize + (i % headSize)];
      });
      await move(read, write, name("attn_v"), ofV, name("attn_output"), ofQuery);
      const { N } = await read(name("ffn_up"));
      const ofUp = factors(N, random);
      await move(read, write, name("ffn_up"), ofUp, name("ffn_down"), ofUp);
    }
  });
}

async function move(read, write, rowsOf, rowFactors, columnsOf, columnFactors) {
  const rows = await read(rowsOf);
  await write(
    rowsOf,
    rows.values.map((w, i) => w * rowFactors[Math.floor(i / rows.K)]),
  );
  const columns = await read(columnsOf);
  await write(
    columnsOf,
    columns.values.map((w, i) => w / columnFactors[i % columns.K]),
  );
}

function factors(count, random) {
  return Float64Array.from({ length: count }, () => MOST ** (2 * random() - 1));
}

/** mulberry32. */
function seeded(seed) {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let t = Math.imul(state ^ (state >>> 15), 1 | state);
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
    return ((t ^ (t >>> 14)) >>> 0) / 2 ** 32;
  };
}
