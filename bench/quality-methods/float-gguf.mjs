// A GGUF file whose tensors are all f32, changed in place.

import { open } from "node:fs/promises";
import { openGguf } from "../../dist/formats/gguf/open-gguf.js";
import { openFileSource } from "../../dist/formats/node-file-source.js";

export const LAYER_MATRIX = /^blk\.\d+\.(attn_(q|k|v|output)|ffn_(gate|up|down))\.weight$/;

/** Offsets and sizes of a file's tensors, and its numbers of heads. */
export async function readFloatGguf(path) {
  const source = await openFileSource(path);
  const { tensors, metadata } = await openGguf(source);
  const architecture = metadata.string("general.architecture");
  const number = (key) => metadata.number(`${architecture}.${key}`);
  const facts = {
    path,
    tensors: new Map([...tensors].map(([name, { offset, N, K }]) => [name, { offset, N, K }])),
    layers: number("block_count"),
    heads: number("attention.head_count"),
    kvHeads: number("attention.head_count_kv"),
  };
  await source.close();
  return facts;
}

/** Hands out tensors as f32 and writes back what `change` has made of them. */
export async function changeTensors({ path, tensors }, change) {
  const file = await open(path, "r+");
  const read = async (name) => {
    const { offset, N, K } = tensors.get(name);
    const values = new Float32Array(N * K);
    await file.read(new Uint8Array(values.buffer), 0, values.byteLength, offset);
    return { values, N, K };
  };
  const write = async (name, values) => {
    await file.write(new Uint8Array(values.buffer), 0, values.byteLength, tensors.get(name).offset);
  };
  try {
    await change({ read, write });
  } finally {
    await file.close();
  }
}
