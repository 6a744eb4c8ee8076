import type { GgmlType } from "../formats/ggml/types.ts";
import type { OutgoingHeader } from "./writer.ts";

/** `general.file_type` of llama.cpp by the type that most weights have. Source: llama.h, enum llama_ftype. */
const FILE_TYPES: Readonly<Record<string, number>> = { F32: 0, F16: 1, Q4_0: 2, Q4_1: 3, Q8_0: 7, Q4_K: 15, BF16: 32 };

export function fileType(type: GgmlType): number | undefined {
  return FILE_TYPES[type.name];
}

export function measured(outgoing: readonly { readonly tensors: readonly OutgoingHeader[] }[]): {
  tensors: readonly OutgoingHeader[];
  bytes: number;
} {
  const tensors = outgoing.flatMap((each) => each.tensors);
  return { tensors, bytes: tensors.reduce((sum, { byteLength }) => sum + byteLength, 0) };
}
