import { type AttentionShape, Graph, type Value } from "../plan/graph.ts";
import type { DecoderConfig } from "./decoder-config.ts";
import type { DecoderNames, LayerNames } from "./tensor-names.ts";

/**
 * One step of a decoder: embedding, layers of attention and gated feed-forward with a norm before (and perhaps after)
 * each, final norm, output matrix. With `until` it stops after so many layers, and its result is the residual stream.
 */
export function decoderGraph(config: DecoderConfig, names: DecoderNames, until?: number): Graph {
  const graph = new Graph();
  if (until !== undefined) {
    const x = layers({ ...config, layers: config.layers.slice(0, until) }, names, graph);
    graph.output = until === 0 ? graph.gather(x) : x;
    return graph;
  }
  const normed = graph.norm(layers(config, names, graph), names.finalNorm, config.normEps);
  const output = config.tiedOutput ? names.embedding : names.output;
  graph.output = graph.linear(normed, output, config.vocabularySize, "logits");
  return graph;
}

/** The residual stream after the embedding and all layers, of the rows that want logits. */
function layers(config: DecoderConfig, names: DecoderNames, graph: Graph): Value {
  const last = config.layers.length - 1;
  let x = graph.embed(names.embedding, config.hiddenSize, config.embeddingMultiplier);
  for (let l = 0; l <= last; l++) {
    const layer = names.layer(l);
    let attended = attention(graph, config, l, layer, x);
    // After the last attention only rows that want logits go on: the others have left their keys and values.
    if (l === last) [x, attended] = [graph.gather(x), graph.gather(attended)];
    x = addPart(graph, config, x, attended, layer.output, config.biases.output, layer.postAttentionNorm);
    x = addPart(graph, config, x, gated(graph, config, layer, x), layer.down, config.biases.mlp, layer.postMlpNorm);
  }
  return x;
}

function attention(graph: Graph, config: DecoderConfig, l: number, names: LayerNames, x: Value): Value {
  const { heads, kvHeads, headSize, normEps, pairing, biases } = config;
  const { rope, window } = config.layers[l]!;
  const normed = graph.norm(x, names.attentionNorm, normEps);
  let q = linear(graph, normed, names.q, heads * headSize, "q", biases.qkv);
  let k = linear(graph, normed, names.k, kvHeads * headSize, "k", biases.qkv);
  const v = linear(graph, normed, names.v, kvHeads * headSize, "v", biases.qkv);
  if (config.headNorms) {
    q = graph.norm(q, names.qNorm, normEps, heads);
    k = graph.norm(k, names.kNorm, normEps, kvHeads);
  }
  const table = graph.ropeTable(rope);
  graph.rope(q, heads, table, pairing);
  graph.rope(k, kvHeads, table, pairing);
  const shape: AttentionShape = { heads, kvHeads, headSize, scale: config.attentionScale };
  return graph.attention(l, q, k, v, window === undefined ? shape : { ...shape, window });
}

function gated(graph: Graph, config: DecoderConfig, names: LayerNames, x: Value): Value {
  const { innerSize, biases } = config;
  const normed = graph.norm(x, names.mlpNorm, config.normEps);
  const gate = linear(graph, normed, names.gate, innerSize, "gate", biases.mlp);
  const up = linear(graph, normed, names.up, innerSize, "up", biases.mlp);
  return graph.gate(gate, up, config.gate);
}

/** x + matrix · part, normed first where the model has norms after its parts. */
function addPart(
  graph: Graph,
  config: DecoderConfig,
  x: Value,
  part: Value,
  matrix: string,
  bias: boolean,
  postNorm: string,
): Value {
  const projected = linear(graph, part, matrix, config.hiddenSize, "projected", bias);
  return graph.add(x, config.postNorms ? graph.norm(projected, postNorm, config.normEps) : projected);
}

function linear(graph: Graph, input: Value, stem: string, width: number, name: string, bias: boolean): Value {
  return graph.linear(input, `${stem}.weight`, width, name, bias ? `${stem}.bias` : undefined);
}
