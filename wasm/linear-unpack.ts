import { codes5, codes6, codes8, lowerTable, nibbles, upperTable } from "./linear-codes";
import { codeBook } from "./linear-matrix";
import { CODES, HIGH_MASK, NIBBLE_MASK, Task, WORD_BYTE_MASK } from "./linear-task";

// A chunk's codes to scratch in the form linear-tile.ts multiplies: steps of 64 bytes, 4 for each of the 16 outputs.

/** A quad of inputs takes one step; with 8-bit codes and code books (form 0) two, lower and upper nibbles. */
export function unpackBytes(task: Task, form: i32): void {
  if (form == 4) bytes4(task);
  else if (form == 5) bytes5(task);
  else if (form == 6) bytes6(task);
  else if (form == 8) bytes8(task);
  else bytesBook(task);
}

/** A quad of inputs takes two steps of 16-bit values: inputs 0 and 2, then 1 and 3. */
export function unpackWords(task: Task, form: i32): void {
  if (form == 4) words4(task);
  else if (form == 5) words5(task);
  else if (form == 6) words6(task);
  else if (form == 8) words8(task);
  else wordsBook(task);
}

// A function each: engines compile those that a model needs.

function bytes4(task: Task): void {
  byteSteps(4, task);
}

function bytes5(task: Task): void {
  byteSteps(5, task);
}

function bytes6(task: Task): void {
  byteSteps(6, task);
}

function bytes8(task: Task): void {
  byteSteps(8, task);
}

function bytesBook(task: Task): void {
  byteSteps(0, task);
}

function words4(task: Task): void {
  wordSteps(4, task);
}

function words5(task: Task): void {
  wordSteps(5, task);
}

function words6(task: Task): void {
  wordSteps(6, task);
}

function words8(task: Task): void {
  wordSteps(8, task);
}

function wordsBook(task: Task): void {
  wordSteps(0, task);
}

// @ts-ignore: decorator
@inline
function highAt(form: i32, inputs: i32): usize {
  return <usize>inputs << (form == 8 ? 3 : form == 6 ? 2 : 1);
}

// @ts-ignore: decorator
@inline
function byteSteps(form: i32, task: Task): void {
  let q = task.block + (<usize>task.first << 3);
  let h = task.block + task.matrix.highAt + highAt(form, task.first);
  let target = changetype<usize>(task) + CODES;
  const mask = v128.load(changetype<usize>(task), NIBBLE_MASK);
  const highMask = v128.load(changetype<usize>(task), HIGH_MASK);
  const lower = lowerTable(codeBook(task.matrix));
  const upper = upperTable(codeBook(task.matrix));
  for (let n = task.count; n > 0; n -= 32) {
    for (let c: usize = 0; c < 64; c += 16)
      for (let o = 0; o < 4; o++) {
        const at = target + c + (<usize>o << (form == 8 || form == 0 ? 8 : 7));
        const low = v128.load(q + c + (<usize>o << 6));
        if (form == 8) {
          const high = v128.load(h + c + (<usize>o << 6));
          v128.store(at, nibbles(low, 0, mask));
          v128.store(at, nibbles(high, 0, mask), 64);
          v128.store(at, nibbles(low, 1, mask), 128);
          v128.store(at, nibbles(high, 1, mask), 192);
        } else if (form == 0) {
          v128.store(at, i8x16.swizzle(lower, nibbles(low, 0, mask)));
          v128.store(at, i8x16.swizzle(upper, nibbles(low, 0, mask)), 64);
          v128.store(at, i8x16.swizzle(lower, nibbles(low, 1, mask)), 128);
          v128.store(at, i8x16.swizzle(upper, nibbles(low, 1, mask)), 192);
        } else {
          const high = highQuads(form, h + c, o);
          v128.store(at, codes(form, low, high, 0, mask, highMask));
          v128.store(at, codes(form, low, high, 1, mask, highMask), 64);
        }
      }
    q += 256;
    h += highAt(form, 32);
    target += form == 8 || form == 0 ? 1024 : 512;
  }
}

/** The codes of one of an octet's two quads. */
// @ts-ignore: decorator
@inline
function codes(form: i32, low: v128, high: v128, quad: i32, mask: v128, highMask: v128): v128 {
  if (form == 4) return nibbles(low, quad, mask);
  if (form == 5) return codes5(low, high, quad, mask, highMask);
  if (form == 6) return codes6(low, high, quad, mask, highMask);
  return codes8(low, high, quad, mask, highMask);
}

/** The high plane for octet o of 32 inputs, moved so that its two quads stand where those of octet 0 do. */
// @ts-ignore: decorator
@inline
function highQuads(form: i32, h: usize, o: i32): v128 {
  if (form == 5) return i16x8.shr_u(v128.load(h), 2 * o);
  if (form == 6) return i16x8.shr_u(v128.load(h + (<usize>(o >> 1) << 6)), 4 * (o & 1));
  return i32x4.splat(0);
}

// @ts-ignore: decorator
@inline
function wordSteps(form: i32, task: Task): void {
  let q = task.block + (<usize>task.first << 3);
  let h = task.block + task.matrix.highAt + highAt(form, task.first);
  let target = changetype<usize>(task) + CODES;
  const mask = v128.load(changetype<usize>(task), NIBBLE_MASK);
  const highMask = v128.load(changetype<usize>(task), HIGH_MASK);
  const byteMask = v128.load(changetype<usize>(task), WORD_BYTE_MASK);
  const book = codeBook(task.matrix);
  for (let n = task.count; n > 0; n -= 32) {
    for (let c: usize = 0; c < 64; c += 16)
      for (let o = 0; o < 4; o++) {
        const at = target + c + (<usize>o << 8);
        const low = v128.load(q + c + (<usize>o << 6));
        if (form == 0) {
          storeSigned(at, i8x16.swizzle(book, nibbles(low, 0, mask)));
          storeSigned(at + 128, i8x16.swizzle(book, nibbles(low, 1, mask)));
        } else {
          const high = form == 8 ? v128.load(h + c + (<usize>o << 6)) : highQuads(form, h + c, o);
          storeCodes(at, byteMask, codes(form, low, high, 0, mask, highMask));
          storeCodes(at + 128, byteMask, codes(form, low, high, 1, mask, highMask));
        }
      }
    q += 256;
    h += highAt(form, 32);
    target += 1024;
  }
}

// @ts-ignore: decorator
@inline
function storeCodes(at: usize, byteMask: v128, bytes: v128): void {
  v128.store(at, v128.and(bytes, byteMask));
  v128.store(at, i16x8.shr_u(bytes, 8), 64);
}

// @ts-ignore: decorator
@inline
function storeSigned(at: usize, bytes: v128): void {
  v128.store(at, i16x8.shr_s(i16x8.shl(bytes, 8), 8));
  v128.store(at, i16x8.shr_s(bytes, 8), 64);
}
