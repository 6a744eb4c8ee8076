import type { Plan, PlanOp, QuantizedBuffer, RowBuffer } from "./plan.ts";

/** The plan as text, one op a line: what `halfbyte inspect --plan` prints. A bar marks ops that threads wait before. */
export function dumpPlan(plan: Plan): string {
  const { cache } = plan;
  const lines = [
    `plan: ${plan.ops.length} ops, ${plan.ops.filter((op) => op.sync).length} waits, activations ${plan.activations}`,
    `arena: ${plan.arenaBytes} bytes for ${plan.maxRows} rows and ${plan.maxLogitRows} of logits`,
    `cache: ${cache.layers} layers × ${cache.kvHeads} heads × ${cache.headSize} dims in ${cache.type}, ${cache.blockBytes} bytes per 16 tokens`,
    ...plan.ops.map((op) => `${op.sync ? "|" : " "} ${op.op.padEnd(10)}${describe(op, plan)}`),
  ];
  return lines.join("\n");
}

function describe(op: PlanOp, plan: Plan): string {
  const matrix = (index: number): string => {
    const { name, layout } = plan.matrices[index]!;
    return `${name}[${layout.N}×${layout.K}]`;
  };
  const vector = (index: number): string => plan.vectors[index]!.name;
  switch (op.op) {
    case "embed":
      return `${at(op.out)} ← ${matrix(op.matrix)}${op.multiplier === 1 ? "" : ` · ${op.multiplier}`}`;
    case "gather":
      return `${at(op.out)} ← rows of ${at(op.input)}`;
    case "norm": {
      const heads = op.heads > 1 ? ` in ${op.heads} heads` : "";
      return `${at(op.out)} ← ${plus(op.residual)}${at(op.input)}${heads} · ${vector(op.weight)}`;
    }
    case "reorder":
      return `${at(op.out)} ← ${at(op.input)} in the order of the next matrix's columns`;
    case "quantize":
      return `${at(op.out)} ← ${at(op.input)} in groups of ${op.out.group}`;
    case "linear":
      return `${op.parts
        .map((part) => {
          const bias = part.bias === undefined ? "" : ` + ${vector(part.bias)}`;
          return `${at(part.out)} ← ${plus(part.residual)}${matrix(part.matrix)}${bias}`;
        })
        .join(", ")} from ${at(op.input)}`;
    case "rope":
      return `${at(op.buffer)} ${op.heads} heads, ${op.rotary} of ${op.headSize} dims by ${op.pairing}, table ${op.table}`;
    case "store":
      return `layer ${op.layer} ← ${at(op.k)}, ${at(op.v)}`;
    case "attention": {
      const limits = [op.window && `window ${op.window}`, op.softCap && `cap ${op.softCap}`].filter(Boolean).join(", ");
      return `${at(op.out)} ← ${at(op.q)} in layer ${op.layer}, ${op.heads}/${op.kvHeads} heads${limits && `, ${limits}`}`;
    }
    case "gate":
      return `${at(op.out)} ← ${op.kind}(${at(op.gate)}) · ${at(op.up)}`;
    case "scale":
      return `${at(op.buffer)} · ${op.multiplier}${op.softCap ? `, cap ${op.softCap}` : ""}`;
    case "headGate":
      return `${at(op.out)} ← sigmoid(${at(op.gate)}) · ${at(op.input)} in ${op.gate.width} heads`;
    case "add":
      return `${at(op.out)} ← ${at(op.a)} + ${at(op.b)}`;
  }
}

function at(buffer: RowBuffer | QuantizedBuffer): string {
  return `${buffer.name}@${buffer.offset}`;
}

function plus(residual: RowBuffer | undefined): string {
  return residual ? `${at(residual)} + ` : "";
}
