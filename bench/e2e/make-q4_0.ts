import { readFile, rename, writeFile } from "node:fs/promises";
import { f32ToF16 } from "../../src/arithmetic/half.ts";
import { openGguf } from "../../src/formats/gguf/open-gguf.ts";
import type { GgufTensor } from "../../src/formats/gguf/parse.ts";
import { memorySource } from "../../src/formats/memory-source.ts";
import { ggufFloats } from "../../src/formats/read-tensor.ts";
import { tensorBytes } from "../../src/formats/tensor-bytes.ts";

const BLOCK_WEIGHTS = 32;
const BLOCK_BYTES = 18;
const Q4_0 = 2;

/**
 * Writes a GGUF like `from` with each Q4_1 matrix requantised to Q4_0, the rest of the tensors and all metadata copied
 * byte for byte. Only `general.file_type` then tells of the former type, which no reader computes with.
 */
export async function makeQ4_0(from: string, to: string): Promise<void> {
  const bytes = await readFile(from);
  const file = await openGguf(memorySource(bytes));
  const header: Uint8Array[] = [bytes.subarray(0, metadataEnd(bytes))];
  const data: Uint8Array[] = [];
  let offset = 0;
  for (const tensor of file.tensors.values()) {
    const requantised = tensor.type.name === "Q4_1";
    const content = requantised ? quantizeQ4_0(await ggufFloats(tensor)) : await tensorBytes(tensor);
    header.push(tensorInfo(tensor, requantised ? Q4_0 : tensor.type.id, offset));
    data.push(content, padding(content.byteLength, file.alignment));
    offset += content.byteLength + data.at(-1)!.byteLength;
  }
  const headerBytes = header.reduce((sum, part) => sum + part.byteLength, 0);
  await writeFile(`${to}.part`, Buffer.concat([...header, padding(headerBytes, file.alignment), ...data]));
  await rename(`${to}.part`, to);
}

/** Blocks of 32 weights: an f16 scale, then codes of 4 bits with zero point 8, the first half in the low nibbles. */
function quantizeQ4_0(weights: Float32Array): Uint8Array {
  const blocks = weights.length / BLOCK_WEIGHTS;
  const out = new Uint8Array(blocks * BLOCK_BYTES);
  const view = new DataView(out.buffer);
  for (let block = 0; block < blocks; block++) {
    const group = weights.subarray(block * BLOCK_WEIGHTS, (block + 1) * BLOCK_WEIGHTS);
    let farthest = 0;
    for (const weight of group) if (Math.abs(weight) > Math.abs(farthest)) farthest = weight;
    // The weight farthest from 0 gets code 0, the one end that has no counterpart.
    const scale = farthest / -8;
    const at = block * BLOCK_BYTES;
    view.setUint16(at, f32ToF16(scale), true);
    const code = (weight: number): number => (scale ? Math.min(15, Math.floor(weight / scale + 8.5)) : 8);
    for (let i = 0; i < 16; i++) out[at + 2 + i] = code(group[i]!) | (code(group[i + 16]!) << 4);
  }
  return out;
}

function tensorInfo({ name, shape }: GgufTensor, type: number, offset: number): Uint8Array {
  const text = Buffer.from(name);
  const info = Buffer.alloc(8 + text.length + 4 + shape.length * 8 + 4 + 8);
  let at = info.writeBigUInt64LE(BigInt(text.length));
  at += text.copy(info, at);
  at = info.writeUInt32LE(shape.length, at);
  for (const size of shape) at = info.writeBigUInt64LE(BigInt(size), at);
  info.writeBigUInt64LE(BigInt(offset), info.writeUInt32LE(type, at));
  return info;
}

function padding(length: number, alignment: number): Uint8Array {
  return new Uint8Array((alignment - (length % alignment)) % alignment);
}

/** Where the metadata of a well-formed file ends and its tensor table begins. */
function metadataEnd(bytes: Buffer): number {
  const scalarBytes = [1, 1, 2, 2, 4, 4, 4, 1, 0, 0, 8, 8, 8];
  const [STRING, ARRAY] = [8, 9];
  let at = 24;
  const pass = (length: number): number => {
    at += length;
    return at - length;
  };
  const u32 = (): number => bytes.readUInt32LE(pass(4));
  const u64 = (): number => Number(bytes.readBigUInt64LE(pass(8)));
  const skip = (type: number): void => {
    if (type === STRING) pass(u64());
    else if (type === ARRAY) for (let inner = u32(), left = u64(); left > 0; left--) skip(inner);
    else pass(scalarBytes[type]!);
  };
  for (let left = Number(bytes.readBigUInt64LE(16)); left > 0; left--) {
    skip(STRING);
    skip(u32());
  }
  return at;
}
