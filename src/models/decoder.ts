import { type AttentionShape, Graph, type Value } from "../plan/graph.ts";
import { FINAL_HIDDEN } from "../plan/plan.ts";
import type { DecoderConfig } from "./decoder-config.ts";
import type { DecoderNames, LayerNames } from "./tensor-names.ts";

/**
 * One step of a decoder: embedding, layers of attention and gated feed-forward with a norm before (and perhaps after)
 * each, final norm, output matrix. Its values are named `embedding`, in each layer `layers.3.` before `attention_input`,
 * `q`, `k`, `v`, `attended`, `attention_output`, `attention_sum`, `mlp_input`, `gate`, `up`, `gated`, `down`, `output`,
 * then `hidden` and `logits`. In the last layer what follows `attended` has the selected rows only.
 */
export function decoderGraph(config: DecoderConfig, names: DecoderNames): Graph {
  const graph = new Graph();
  const last = layers(config, names, graph);
  const hidden = graph.norm(last, names.finalNorm, config.normEps, 1, FINAL_HIDDEN);
  const output = config.tiedOutput ? names.embedding : names.output;
  graph.output = graph.linear(hidden, output, config.vocabularySize, "logits");
  const { logitMultiplier = 1, logitCap } = config;
  if (logitMultiplier !== 1 || logitCap !== undefined) graph.scale(graph.output, logitMultiplier, logitCap);
  return graph;
}

/** The name of the residual stream after so many layers of a model. */
export function residualName(layersDone: number): string {
  return layersDone === 0 ? "embedding" : `layers.${layersDone - 1}.output`;
}

/** The residual stream after the embedding and all layers, of the rows that want logits. */
function layers(config: DecoderConfig, names: DecoderNames, graph: Graph): Value {
  const last = config.layers.length - 1;
  let x = graph.embed(names.embedding, config.hiddenSize, config.embeddingMultiplier);
  for (let l = 0; l <= last; l++) {
    const layer = names.layer(l);
    graph.prefix = `layers.${l}.`;
    let attended = attention(graph, config, l, layer, x);
    // After the last attention only rows that want logits go on: the others have left their keys and values.
    if (l === last) [x, attended] = [graph.gather(x, "input_selected"), graph.gather(attended, "attended_selected")];
    const { biases } = config;
    const output = linear(graph, attended, layer.output, config.hiddenSize, "attention_output", biases.output);
    x = addPart(graph, config, x, output, layer.postAttentionNorm, "attention_sum");
    const down = linear(graph, gated(graph, config, layer, x), layer.down, config.hiddenSize, "down", biases.mlp);
    x = addPart(graph, config, x, down, layer.postMlpNorm, "output");
  }
  graph.prefix = "";
  return x;
}

function attention(graph: Graph, config: DecoderConfig, l: number, names: LayerNames, x: Value): Value {
  const { heads, kvHeads, headSize, normEps, pairing, biases, attentionCap: softCap } = config;
  const { rope, window, turns = true } = config.layers[l]!;
  const normed = partInput(graph, config, x, names.attentionNorm, "attention_input");
  let q = linear(graph, normed, names.q, heads * headSize, "q", biases.qkv);
  let k = linear(graph, normed, names.k, kvHeads * headSize, "k", biases.qkv);
  const v = linear(graph, normed, names.v, kvHeads * headSize, "v", biases.qkv);
  if (config.headNorms) {
    const whole = config.headNorms === "whole";
    q = graph.norm(q, names.qNorm, normEps, whole ? 1 : heads, "q_normed");
    k = graph.norm(k, names.kNorm, normEps, whole ? 1 : kvHeads, "k_normed");
  }
  if (turns) {
    const table = graph.ropeTable(rope);
    graph.rope(q, heads, table, pairing);
    graph.rope(k, kvHeads, table, pairing);
  }
  const gate = config.headGates ? linear(graph, normed, names.headGate, heads, "head_gate", false) : undefined;
  const shape: AttentionShape = {
    heads,
    kvHeads,
    headSize,
    scale: config.attentionScale,
    ...(window !== undefined && { window }),
    ...(softCap !== undefined && { softCap }),
  };
  const attended = graph.attention(l, q, k, v, shape);
  return gate ? graph.headGate(gate, attended) : attended;
}

function gated(graph: Graph, config: DecoderConfig, names: LayerNames, x: Value): Value {
  const { innerSize, biases } = config;
  const normed = partInput(graph, config, x, names.mlpNorm, "mlp_input");
  const gate = linear(graph, normed, names.gate, innerSize, "gate", biases.mlp);
  const up = linear(graph, normed, names.up, innerSize, "up", biases.mlp);
  return graph.gate(gate, up, config.gate);
}

/** What a part of a layer reads: x, normed unless the model has norms behind its parts alone. */
function partInput(graph: Graph, config: DecoderConfig, x: Value, norm: string, name: string): Value {
  return config.preNorms === false ? x : graph.norm(x, norm, config.normEps, 1, name);
}

/** x + part, normed first where the model has norms after its parts. */
function addPart(graph: Graph, config: DecoderConfig, x: Value, part: Value, postNorm: string, name: string): Value {
  const normed = config.postNorms ? graph.norm(part, postNorm, config.normEps, 1, `${name}_part`) : part;
  if (config.residualMultiplier !== undefined) graph.scale(normed, config.residualMultiplier);
  return graph.add(x, normed, name);
}

function linear(graph: Graph, input: Value, stem: string, width: number, name: string, bias: boolean): Value {
  return graph.linear(input, `${stem}.weight`, width, name, bias ? `${stem}.bias` : undefined);
}
