import type { FolderEncoding, FolderForm } from "./folder-form.ts";

/** What is known of the matrices of a folder to be, by their names without `.weight`. */
export interface WrittenMatrices {
  readonly quantized: ReadonlyMap<string, FolderForm>;
  /** Left as floats, embeddings apart. */
  readonly floats: readonly string[];
}

/** `quantization_config` of config.json as readers of each encoding expect it. */
export function quantizationConfig(encoding: FolderEncoding, matrices: WrittenMatrices): Record<string, unknown> {
  switch (encoding) {
    case "cpu_int4":
      return cpuInt4(matrices);
    case "awq":
      return awq(matrices);
    case "compressed-tensors":
      return compressedTensors(matrices);
    default:
      return gptq(encoding, matrices);
  }
}

function cpuInt4({ quantized, floats }: WrittenMatrices): Record<string, unknown> {
  return {
    quant_method: "cpu_int4",
    group_size: declaredGroup(commonest(quantized.values())),
    ignore: [...floats],
    quantize_embedding: [...quantized.keys()].some(isEmbedding),
  };
}

function awq({ quantized, floats }: WrittenMatrices): Record<string, unknown> {
  return {
    quant_method: "awq",
    bits: 4,
    group_size: declaredGroup(commonest(quantized.values())),
    zero_point: true,
    version: "gemm",
    modules_to_not_convert: floats.length > 0 ? [...floats] : null,
  };
}

/** What differs from the commonest form, or stays floats, is said under `dynamic`, as GPTQModel reads it. */
function gptq(encoding: FolderEncoding, { quantized, floats }: WrittenMatrices): Record<string, unknown> {
  const common = commonest(quantized.values());
  const dynamic: Record<string, object> = {};
  for (const [name, form] of quantized)
    if (kindOf(form) !== kindOf(common)) dynamic[`+:^${escaped(name)}$`] = gptqForm(form);
  for (const name of floats) if (!isOutput(name)) dynamic[`-:^${escaped(name)}$`] = {};
  return {
    quant_method: "gptq",
    ...gptqForm(common),
    lm_head: [...quantized.keys()].some(isOutput),
    checkpoint_format: encoding,
    ...(Object.keys(dynamic).length > 0 && { dynamic }),
  };
}

function gptqForm(form: FolderForm): Record<string, unknown> {
  return {
    bits: form.bits,
    group_size: declaredGroup(form),
    desc_act: form.inputOrder !== undefined,
    sym: form.symmetric,
  };
}

function compressedTensors({ quantized, floats }: WrittenMatrices): Record<string, unknown> {
  const common = kindOf(commonest([...quantized].filter(([name]) => !isEmbedding(name)).map(([, form]) => form)));
  const kinds = new Map<string, { form: FolderForm; names: string[] }>();
  for (const [name, form] of quantized) {
    const kind = isEmbedding(name) ? `${kindOf(form)} embedding` : kindOf(form);
    const group = kinds.get(kind) ?? { form, names: [] };
    kinds.set(kind, group);
    group.names.push(name);
  }
  const groups = [...kinds].map(([kind, { form, names }], i) => [
    `group_${i}`,
    {
      format: "pack-quantized",
      input_activations: null,
      output_activations: null,
      targets: kind === common ? ["Linear"] : names,
      weights: {
        num_bits: form.bits,
        type: "int",
        symmetric: form.symmetric,
        strategy: form.groupSize === form.K ? "channel" : "group",
        group_size: form.groupSize === form.K ? null : form.groupSize,
        dynamic: false,
        ...(form.inputOrder && { actorder: "group" }),
      },
    },
  ]);
  return {
    quant_method: "compressed-tensors",
    quantization_status: "compressed",
    format: "pack-quantized",
    config_groups: Object.fromEntries(groups),
    // Groups with names come before those with classes in every reader, so a class may name what a group names too.
    ignore: [...floats],
    kv_cache_scheme: null,
    global_compression_ratio: null,
  };
}

function commonest(forms: Iterable<FolderForm>): FolderForm {
  const counts = new Map<string, { form: FolderForm; count: number }>();
  for (const form of forms) {
    const kind = kindOf(form);
    counts.set(kind, { form, count: (counts.get(kind)?.count ?? 0) + 1 });
  }
  return [...counts.values()].sort((a, b) => b.count - a.count)[0]!.form;
}

function kindOf({ bits, groupSize, K, symmetric, inputOrder }: FolderForm): string {
  return [bits, groupSize === K ? "channel" : groupSize, symmetric, inputOrder !== undefined].join(" ");
}

/** −1 for one group per output. */
function declaredGroup({ groupSize, K }: FolderForm): number {
  return groupSize === K ? -1 : groupSize;
}

export function isEmbedding(matrix: string): boolean {
  return matrix.endsWith("embed_tokens");
}

export function isOutput(matrix: string): boolean {
  return matrix.endsWith("lm_head");
}

function escaped(name: string): string {
  return name.replace(/[.*+?^${}()|[\]\\]/g, "\\$&");
}
