import { HalfbyteError } from "../errors.ts";
import { awqAxes, awqForm, decodeAwq } from "../formats/encodings/awq.ts";
import {
  compressedAxes,
  compressedForm,
  decodeCompressed,
  decodeIntQuantized,
  intQuantizedAxes,
  intQuantizedForm,
  readWeightShape,
} from "../formats/encodings/compressed-tensors.ts";
import { cpuInt4Axes, cpuInt4Form, decodeCpuInt4 } from "../formats/encodings/cpu-int4.ts";
import { encodedMatrix } from "../formats/encodings/encoded-matrix.ts";
import { inputOrder, readGroupOfInput } from "../formats/encodings/input-order.ts";
import type { MatrixSource } from "../weights/matrix-source.ts";
import {
  attempt,
  compareWithDeclared,
  eachAtOnce,
  type FoundMatrix,
  inMemory,
  type OpenedMatrix,
  weight,
} from "./found-matrix.ts";
import { openGptq } from "./gptq-store.ts";
import type { Notes } from "./notes.ts";
import { inOrder } from "./ordered-matrix.ts";
import type { QuantizationConfig } from "./quantization-config.ts";
import { METHODS, type QuantizedTensors } from "./quantized-tensors.ts";

/**
 * Opens quantised matrices: reads of their tensors only what is needed to know their form. One that cannot be opened does
 * not stop the others, as the model may have no use for it. Throws ERR_FORMAT where GPTQ's version cannot be told.
 */
export async function openQuantized(
  found: Iterable<QuantizedTensors>,
  config: QuantizationConfig | undefined,
  notes: Notes,
): Promise<ReadonlyMap<string, OpenedMatrix>> {
  const opened = new Map<string, OpenedMatrix>();
  const gptq: FoundMatrix[] = [];
  const others: FoundMatrix[] = [];
  for (const tensors of found) {
    const { name, encoding, parts } = tensors;
    const place = `${Object.values(parts)[0]!.source.name}, ${name}`;
    const says = config?.says(name);
    if (says === "float") notes.add("quantised, though the configuration has it left alone", name);
    const matrix: FoundMatrix = { ...tensors, place, declared: says === "float" ? {} : (says ?? {}) };
    if (config && METHODS[encoding] !== config.method) opened.set(name, contradiction(matrix, config));
    else (encoding === "gptq" ? gptq : others).push(matrix);
  }
  for (const [name, matrix] of await openGptq(gptq, config?.gptqVersion, notes)) opened.set(name, matrix);
  await eachAtOnce(others, async (matrix) => {
    opened.set(matrix.name, await attempt(() => open(matrix, notes)));
  });
  return opened;
}

function contradiction(
  { encoding, place }: FoundMatrix,
  { method, place: configured }: QuantizationConfig,
): HalfbyteError {
  return new HalfbyteError("ERR_FORMAT", "the tensors are of another encoding than the configuration says", {
    place,
    expected: `${method}, as ${configured} has it`,
    got: `${METHODS[encoding]}, by names, types and shapes`,
  });
}

async function open(matrix: FoundMatrix, notes: Notes): Promise<MatrixSource> {
  const { name, parts, declared, place } = matrix;
  switch (matrix.encoding) {
    case "cpu_int4": {
      const form = cpuInt4Form(parts, declared, place);
      compareWithDeclared(matrix, form, notes);
      const decode = decodeCpuInt4;
      return encodedMatrix({ name: weight(name), form, tensors: parts, axes: cpuInt4Axes, decode });
    }
    case "awq": {
      const form = awqForm(parts, declared, place);
      compareWithDeclared(matrix, form, notes);
      return encodedMatrix({ name: weight(name), form, tensors: parts, axes: awqAxes, decode: decodeAwq });
    }
    case "int-quantized": {
      const form = intQuantizedForm(parts, declared, place);
      compareWithDeclared(matrix, form, notes);
      const decode = decodeIntQuantized;
      return encodedMatrix({ name: weight(name), form, tensors: parts, axes: intQuantizedAxes, decode });
    }
    default: {
      const { weight_shape: shape, weight_g_idx: index, weight_zero_point: zero } = parts;
      const size = readWeightShape(shape ? await inMemory(shape) : missing(place, "weight_shape"), place);
      const form = compressedForm(parts, size, declared, place);
      compareWithDeclared(matrix, form, notes);
      if (zero && declared.symmetric) notes.add("has zero points, though the configuration has it symmetric", name);
      const groups = index && readGroupOfInput(await inMemory(index));
      const order = groups && inputOrder(groups, form.groupSize, `${place}.weight_g_idx`);
      const source = encodedMatrix({
        name: weight(name),
        form,
        tensors: parts,
        axes: compressedAxes(parts, form.bits),
        decode: (rows, of) => decodeCompressed(rows, of).matrix,
      });
      return inOrder(source, order);
    }
  }
}

function missing(place: string, key: string): never {
  throw new HalfbyteError("ERR_MISSING", "the quantised matrix lacks a tensor", { place: `${place}.${key}` });
}
