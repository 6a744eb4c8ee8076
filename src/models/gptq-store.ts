import type { HalfbyteError } from "../errors.ts";
import { encodedMatrix } from "../formats/encodings/encoded-matrix.ts";
import type { MatrixForm } from "../formats/encodings/form.ts";
import { decodeGptq, type GptqForm, type GptqVersion, gptqAxes, gptqForm } from "../formats/encodings/gptq.ts";
import { constantZero, gptqVersion, type ZeroEvidence, zeroEvidence } from "../formats/encodings/gptq-version.ts";
import { inputOrder, readGroupOfInput } from "../formats/encodings/input-order.ts";
import { readOutputs } from "../formats/encodings/outputs.ts";
import {
  attempt,
  compareWithDeclared,
  eachAtOnce,
  type FoundMatrix,
  inMemory,
  type OpenedMatrix,
  weight,
} from "./found-matrix.ts";
import type { Notes } from "./notes.ts";
import { inOrder } from "./ordered-matrix.ts";

/** Codes of a matrix that are read to tell the version: those of its first inputs. */
const SAMPLE_BYTES: number = 128 * 1024;

interface Examined {
  readonly form: MatrixForm;
  /** Absent where the matrix has no zeros. */
  readonly evidence: ZeroEvidence | undefined;
  readonly order: Int32Array | undefined;
}

/**
 * Opens matrices of GPTQ: all zeros and a sample of codes are read, to tell which version of the format the checkpoint
 * has. Throws ERR_FORMAT where that cannot be told.
 */
export async function openGptq(
  matrices: readonly FoundMatrix[],
  declared: GptqVersion | undefined,
  notes: Notes,
): Promise<ReadonlyMap<string, OpenedMatrix>> {
  const opened = new Map<string, OpenedMatrix>();
  const examined = new Map<FoundMatrix, Examined>();
  await eachAtOnce(matrices, async (matrix) => {
    const result: Examined | HalfbyteError = await attempt(() => examine(matrix, notes));
    if ("form" in result) examined.set(matrix, result);
    else opened.set(matrix.name, result);
  });
  const evidence = [...examined.values()].flatMap((each) => each.evidence ?? []);
  const place = `${matrices[0]?.place}.qzeros`;
  const { version, note } = evidence.length > 0 ? gptqVersion(evidence, declared, place) : { version: "v2" as const };
  if (note) notes.add(note);
  for (const [matrix, { form, evidence: zeros, order }] of examined) {
    const { name, parts: tensors } = matrix;
    const middle = 2 ** (form.bits - 1);
    const zero = zeros ? constantZero(zeros, version) : middle;
    if (!zeros) notes.add("has no zero points: read as symmetric, as the configuration has it", name);
    else if (matrix.declared.symmetric && zero !== middle)
      notes.add("has zero points, though the configuration has it symmetric", name);
    const full: GptqForm = { ...form, version, ...(zero !== undefined && { zero }) };
    const axes = { ...gptqAxes(form.bits), ...(zero !== undefined && { qzeros: undefined }) };
    const decode = (rows: Parameters<typeof decodeGptq>[0], of: GptqForm) => decodeGptq(rows, of).matrix;
    const source = encodedMatrix({ name: weight(name), form: full, tensors, axes, decode });
    opened.set(name, inOrder(source, order));
  }
  return opened;
}

async function examine(matrix: FoundMatrix, notes: Notes): Promise<Examined> {
  const { parts, declared, place, name } = matrix;
  const form = gptqForm(parts, declared, place);
  compareWithDeclared(matrix, form, notes);
  const { qweight, qzeros, g_idx } = parts;
  const groups = g_idx && readGroupOfInput(await inMemory(g_idx));
  const order = groups && inputOrder(groups, form.groupSize, `${place}.g_idx`);
  if (form.groupSize < form.K && groups?.every((g) => g === 0))
    notes.add("an index of groups that is all 0 is read as not filled in", name);
  if (!qzeros) return { form, evidence: undefined, order };
  const rows = Math.min(qweight!.shape[0]!, Math.ceil(SAMPLE_BYTES / (form.N * 4)));
  // The first rows of a tensor are a slice along its outer axis, whatever that axis means.
  const sample = await readOutputs(qweight!, { axis: 0, outputsPerElement: 1 }, 0, rows);
  const evidence = zeroEvidence(await inMemory(qzeros), sample, form, order && groups);
  return { form, evidence, order };
}
