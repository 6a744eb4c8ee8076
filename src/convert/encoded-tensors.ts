import { awqAxes, encodeAwq } from "../formats/encodings/awq.ts";
import { compressedAxes, encodeCompressed } from "../formats/encodings/compressed-tensors.ts";
import { cpuInt4Axes, encodeCpuInt4 } from "../formats/encodings/cpu-int4.ts";
import { encodeGptq, gptqAxes } from "../formats/encodings/gptq.ts";
import { groupOfInput } from "../formats/encodings/input-order.ts";
import type { OutputAxis } from "../formats/encodings/outputs.ts";
import { elementBytes, FLOAT_DTYPES, newTensor, type Tensor, type TensorHeader } from "../formats/encodings/tensors.ts";
import type { SafetensorsDtype } from "../formats/safetensors/open-safetensors.ts";
import type { MatrixSource } from "../weights/matrix-source.ts";
import type { QuantizedMatrix } from "../weights/quantized-matrix.ts";
import { eachChunk } from "./chunks.ts";
import type { FolderForm } from "./folder-form.ts";
import type { Outgoing, Put, SafetensorsHeader } from "./writer.ts";

/** Writes of one tensor that are under way at once where its rows lie apart in the file. */
const WRITES_AT_ONCE = 32;

type Parts<T> = Readonly<Record<string, T>>;

/**
 * A quantised matrix as tensors of an encoding: `STEM.qweight` and so on. Writing throws ERR_UNSUPPORTED where rows are not
 * of the form. `chunkWeights` are in memory at once.
 */
export function encodedTensors(
  stem: string,
  source: MatrixSource,
  form: FolderForm,
  chunkWeights?: number,
): Outgoing<SafetensorsHeader> {
  const headers = headersOf(form);
  const axes = axesOf(form, headers);
  return {
    tensors: Object.entries(headers).map(([end, header]) => named(`${stem}.${end}`, header)),
    async write(put, signal) {
      for (const [end, tensor] of Object.entries(wholeTensors(form))) await put(`${stem}.${end}`, 0, tensor.bytes);
      await eachChunk(
        source,
        signal,
        async (rows, first) => {
          const parts = encodeRows(rows as QuantizedMatrix, form, stem);
          for (const [end, tensor] of Object.entries(parts)) {
            const at = axes[end];
            if (at) await putOutputs(`${stem}.${end}`, headers[end]!, at, first, tensor, put);
          }
        },
        chunkWeights,
      );
    },
  };
}

function named(name: string, header: TensorHeader): SafetensorsHeader {
  const { dtype, shape } = header;
  return { name, dtype, shape, byteLength: shape.reduce((product, size) => product * size, elementBytes(header)) };
}

function headersOf(form: FolderForm): Parts<TensorHeader> {
  const { N, K, bits, groupSize, symmetric, inputOrder } = form;
  const groups = K / groupSize;
  const scale = FLOAT_DTYPES[form.scale];
  const of = (dtype: SafetensorsDtype, ...shape: number[]): TensorHeader => ({ dtype, shape });
  switch (form.encoding) {
    case "cpu_int4":
      return {
        weight_packed: of("U8", N, K / 2),
        weight_scale: of(scale, N, groups),
        weight_zero: of("BF16", N, groups),
      };
    case "awq":
      return {
        qweight: of("I32", K, N / 8),
        qzeros: of("I32", groups, N / 8),
        scales: of(scale, groups, N),
      };
    case "compressed-tensors":
      return {
        weight_packed: of("I32", N, Math.ceil((K * bits) / 32)),
        weight_scale: of(scale, N, groups),
        weight_shape: of("I64", 2),
        ...(!symmetric && { weight_zero_point: of("I32", Math.ceil((N * bits) / 32), groups) }),
        ...(inputOrder && { weight_g_idx: of("I32", K) }),
      };
    default:
      return {
        qweight: of("I32", (K * bits) / 32, N),
        qzeros: of("I32", groups, (N * bits) / 32),
        scales: of(scale, groups, N),
        g_idx: of("I32", K),
      };
  }
}

/** Tensors that are not cut by outputs. */
function wholeTensors({ encoding, N, K, groupSize, inputOrder }: FolderForm): Parts<Tensor> {
  const index = (): Tensor => newTensor("I32", [K], groupOfInput(K, groupSize, inputOrder));
  if (encoding === "gptq" || encoding === "gptq_v2") return { g_idx: index() };
  if (encoding !== "compressed-tensors") return {};
  const shape = newTensor("I64", [2], BigInt64Array.of(BigInt(N), BigInt(K)));
  return { weight_shape: shape, ...(inputOrder && { weight_g_idx: index() }) };
}

function axesOf({ encoding, bits }: FolderForm, headers: Parts<TensorHeader>): Parts<OutputAxis | undefined> {
  if (encoding === "cpu_int4") return cpuInt4Axes;
  if (encoding === "awq") return awqAxes;
  return encoding === "compressed-tensors" ? compressedAxes(headers, bits) : gptqAxes(bits);
}

function encodeRows(rows: QuantizedMatrix, form: FolderForm, place: string): Parts<Tensor> {
  const { encoding, inputOrder } = form;
  const scales = [form.scale];
  const ordered = { matrix: rows, ...(inputOrder && { inputOrder }) };
  switch (encoding) {
    case "cpu_int4":
      return encodeCpuInt4(rows, place);
    case "awq":
      return encodeAwq(rows, place, scales);
    case "compressed-tensors":
      return encodeCompressed(ordered, place, { scales, zeroPoints: !form.symmetric });
    default:
      return encodeGptq(ordered, encoding === "gptq" ? "v1" : "v2", place, scales);
  }
}

/** Puts a part of a tensor, from output `first` on, where it belongs: one run of bytes, or one in each of its rows. */
async function putOutputs(
  name: string,
  whole: TensorHeader,
  { axis, outputsPerElement }: OutputAxis,
  first: number,
  { shape, bytes }: Tensor,
  put: Put,
): Promise<void> {
  const start = first / outputsPerElement;
  const unit = whole.shape.slice(axis + 1).reduce((product, size) => product * size, elementBytes(whole));
  if (axis === 0 || shape[1] === whole.shape[1]) return put(name, start * unit, bytes);
  const [from, to] = [shape[1]! * unit, whole.shape[1]! * unit];
  for (let row = 0; row < shape[0]!; row += WRITES_AT_ONCE) {
    const rows = Array.from({ length: Math.min(WRITES_AT_ONCE, shape[0]! - row) }, (_, i) => row + i);
    await Promise.all(rows.map((r) => put(name, r * to + start * unit, bytes.subarray(r * from, (r + 1) * from))));
  }
}
