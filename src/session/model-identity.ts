import type { WeightSet } from "../executors/executor.ts";
import type { Plan } from "../plan/plan.ts";
import type { GroupValues, Matrix } from "../weights/quantized-matrix.ts";

/**
 * Tells models apart whose answers would differ: SHA-256 in hex over the plan's shapes and modes, all vectors, and the
 * first row of every matrix. Reads from the model's file, a few kilobytes for each layer.
 */
export async function modelIdentity(plan: Plan, weights: WeightSet): Promise<string> {
  const { activations, cache, matrices, vectors, ropeTables, vocabularySize } = plan;
  const parts: Uint8Array[] = [];
  const shape = { activations, cache, matrices, vectors, ropeTables, vocabularySize };
  parts.push(new TextEncoder().encode(JSON.stringify(shape)));
  for (const { name } of vectors) parts.push(bytesOf(await weights.vector(name)));
  for (const { name } of matrices) parts.push(...matrixBytes(await weights.matrix(name).readRows(0, 1)));
  const all = new Uint8Array(parts.reduce((sum, { length }) => sum + length, 0));
  let at = 0;
  for (const part of parts) {
    all.set(part, at);
    at += part.length;
  }
  const hash = new Uint8Array(await crypto.subtle.digest("SHA-256", all));
  return Array.from(hash, (byte) => byte.toString(16).padStart(2, "0")).join("");
}

function matrixBytes(matrix: Matrix): Uint8Array[] {
  if (matrix.kind === "float") return [bytesOf(matrix.values)];
  const { codes, scale, zero, offset } = matrix;
  const groups = [scale, ...(offset ? [offset] : [])].flatMap(groupBytes);
  return [bytesOf(codes), ...groups, ...(typeof zero === "number" ? [] : [bytesOf(zero)])];
}

function groupBytes(values: GroupValues): Uint8Array[] {
  return "superValues" in values ? [bytesOf(values.codes), bytesOf(values.superValues)] : [bytesOf(values.values)];
}

function bytesOf(values: ArrayBufferView): Uint8Array {
  return new Uint8Array(values.buffer, values.byteOffset, values.byteLength);
}
