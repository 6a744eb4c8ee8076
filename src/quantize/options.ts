import { HalfbyteError } from "../errors.ts";
import type { MatrixSource } from "../weights/matrix-source.ts";
import type { Grid } from "./grid.ts";

/**
 * - rtn: rounding to nearest between the least and the largest weight of a group.
 * - search: scales that leave the least squared error, weighted by the inputs where a calibration text is given.
 * - awq: inputs that matter scaled up before rounding, and down again in what makes them; then as search.
 * - gptq: as search, and each rounding error is made good on the weights that are still to be rounded.
 */
export type QuantizationMethod = "rtn" | "search" | "awq" | "gptq";

const METHODS: readonly QuantizationMethod[] = ["rtn", "search", "awq", "gptq"];

/** What `quantize` writes. */
export type QuantizedEncoding =
  | "cpu_int4"
  | "gptq"
  | "gptq_v2"
  | "awq"
  | "compressed-tensors"
  | "gguf:q4_0"
  | "gguf:q4_1"
  | "gguf:q4_k"
  | "gguf:q8_0";

export interface QuantizeOptions {
  readonly encoding: QuantizedEncoding;
  /** Default "gptq". */
  readonly method?: QuantizationMethod | undefined;
  /** Inputs that share a scale; −1 for one scale per output. Default 64; GGUF has 32. */
  readonly groupSize?: number | undefined;
  /** Default 4. */
  readonly bits?: 4 | 8 | undefined;
  /** No zero points: default where the encoding leaves a choice. */
  readonly symmetric?: boolean | undefined;
  /** Names of matrices that stay as they are; `*` stands for anything. */
  readonly keep?: readonly string[] | undefined;
  /** Names of matrices that get 8 bits. */
  readonly eightBits?: readonly string[] | undefined;
  /** The embedding and the output matrix: as they are, or rounded to so many bits. Default "keep". */
  readonly embedding?: "keep" | 4 | 8 | undefined;
  /** Added to the diagonal of the Hessian, as a part of its mean. Default 0.01. */
  readonly damping?: number | undefined;
  /** Whether inputs with large values are rounded first. Default true. */
  readonly actOrder?: boolean | undefined;
}

interface EncodingRules {
  readonly bits: readonly (4 | 8)[];
  readonly group?: number;
  readonly grid: (bits: 4 | 8, symmetric: boolean, K: number) => Omit<Grid, "groupSize" | "bits">;
  /** Undefined where both can be. */
  readonly symmetric?: boolean;
  /** Types of ggml blocks by bits. */
  readonly blocks?: Readonly<Record<number, string>>;
}

const SUPER_BLOCK = 256;
const middle = (bits: number): number => 2 ** (bits - 1);
const whole =
  (scaleType: "f16" | "bf16"): EncodingRules["grid"] =>
  (bits, symmetric) => ({ kind: symmetric ? "symmetric" : "zero-point", zero: middle(bits), scaleType });

const RULES: Record<QuantizedEncoding, EncodingRules> = {
  cpu_int4: { bits: [4], symmetric: false, grid: () => ({ kind: "offset", zero: 8, scaleType: "bf16" }) },
  // Version 1 has no unambiguous zero point of 0.
  gptq: { bits: [4, 8], symmetric: true, grid: whole("f16") },
  gptq_v2: { bits: [4, 8], grid: whole("f16") },
  awq: { bits: [4], symmetric: false, grid: whole("f16") },
  "compressed-tensors": { bits: [4, 8], grid: whole("bf16") },
  "gguf:q4_0": { bits: [4, 8], group: 32, symmetric: true, grid: whole("f16"), blocks: { 4: "Q4_0", 8: "Q8_0" } },
  "gguf:q4_1": {
    bits: [4, 8],
    group: 32,
    symmetric: false,
    grid: (bits, _, K) => (bits === 8 ? whole("f16")(8, true, K) : { kind: "offset", zero: 0, scaleType: "f16" }),
    blocks: { 4: "Q4_1", 8: "Q8_0" },
  },
  // As q4_1 where super-blocks do not divide the inputs.
  "gguf:q4_k": {
    bits: [4, 8],
    group: 32,
    symmetric: false,
    grid: (bits, _, K) => {
      if (bits === 8) return whole("f16")(8, true, K);
      if (K % SUPER_BLOCK !== 0) return { kind: "offset", zero: 0, scaleType: "f16" };
      return { kind: "offset", zero: 0, scaleType: "f32", superSize: SUPER_BLOCK };
    },
    blocks: { 4: "Q4_K", 8: "Q8_0" },
  },
  "gguf:q8_0": { bits: [8], group: 32, symmetric: true, grid: whole("f16"), blocks: { 8: "Q8_0" } },
};

const QUANTIZED_ENCODINGS: readonly QuantizedEncoding[] = Object.keys(RULES) as QuantizedEncoding[];

/** What becomes of one matrix. */
export interface MatrixChoice {
  readonly grid: Grid;
  /** In GGUF. */
  readonly blocks: string | undefined;
  readonly method: QuantizationMethod;
}

/** Options in full, checked. */
export class QuantizationChoices {
  readonly encoding: QuantizedEncoding;
  readonly method: QuantizationMethod;
  readonly groupSize: number;
  readonly bits: 4 | 8;
  readonly symmetric: boolean;
  readonly damping: number;
  readonly actOrder: boolean;
  readonly embedding: "keep" | 4 | 8;
  readonly #keep: readonly string[];
  readonly #eightBits: readonly string[];
  readonly #rules: EncodingRules;

  /** Throws ERR_ARGUMENT for options that are none, or that the encoding has no place for. */
  constructor(options: QuantizeOptions) {
    this.encoding = oneOf("encoding", options.encoding, QUANTIZED_ENCODINGS);
    const rules = RULES[this.encoding];
    this.#rules = rules;
    this.method = oneOf("method", options.method ?? "gptq", METHODS);
    this.bits = this.#possible("--bits", options.bits ?? rules.bits[0]!);
    this.groupSize = options.groupSize ?? rules.group ?? 64;
    this.symmetric = options.symmetric ?? rules.symmetric ?? true;
    this.embedding = oneOf("embedding", options.embedding ?? "keep", ["keep", 4, 8]);
    this.damping = options.damping ?? 0.01;
    this.actOrder = options.actOrder ?? true;
    this.#keep = options.keep ?? [];
    this.#eightBits = options.eightBits ?? [];
    const { groupSize } = this;
    if (rules.group !== undefined && groupSize !== rules.group)
      throw refusal("group size", `${rules.group}, all that ${this.encoding} has`, groupSize);
    if (groupSize !== -1 && !(Number.isSafeInteger(groupSize) && groupSize >= 16 && groupSize % 16 === 0))
      throw refusal("group size", "−1 or a multiple of 16", groupSize);
    if (rules.symmetric !== undefined && this.symmetric !== rules.symmetric)
      throw unfit(
        this.symmetric ? "--symmetric" : "--asymmetric",
        `${this.encoding} always has ${this.symmetric ? "zero points or offsets" : "no zero points"}`,
        (other) => other.symmetric === undefined || other.symmetric === this.symmetric,
      );
    if (this.encoding === "gguf:q4_k" && this.method === "rtn")
      throw refusal("method", "search, awq or gptq: Q4_K has no plain rounding", this.method);
    if (!(this.damping > 0 && this.damping <= 1)) throw refusal("damping", "above 0, at most 1", this.damping);
    if (this.#eightBits.length > 0) this.#possible("--bits8", 8);
    if (this.embedding !== "keep") this.#possible(`--embedding ${this.embedding}`, this.embedding);
  }

  #possible(place: string, bits: 4 | 8): 4 | 8 {
    oneOf(place, bits, [4, 8]);
    if (this.#rules.bits.includes(bits)) return bits;
    throw unfit(place, `${this.encoding} has no weights of ${bits} bits`, (other) => other.bits.includes(bits));
  }

  /** Whether a matrix or vector stays as it is. */
  keeps({ name, N }: Pick<MatrixSource, "name" | "N">): boolean {
    const role = roleOf(name);
    if (role === undefined || N < 2 || this.#keep.some((pattern) => matches(pattern, name))) return true;
    return role === "outer" && this.embedding === "keep";
  }

  /** Throws ERR_ARGUMENT for a name to be kept, or to get 8 bits, that has no effect on any of these. */
  checkNames(sources: readonly Pick<MatrixSource, "name" | "N">[]): void {
    const matrices = sources.filter(({ name, N }) => roleOf(name) !== undefined && N > 1);
    const check = (place: string, patterns: readonly string[], of: typeof matrices, none: string): void => {
      const names = of.map(({ name }) => name);
      const idle = patterns.find((pattern) => !names.some((name) => matches(pattern, name)));
      if (idle === undefined) return;
      throw new HalfbyteError("ERR_ARGUMENT", none, {
        place,
        expected: `a name such as ${[...new Set(names.map(withoutLayer))].slice(0, SHOWN_NAMES).join(", ")}`,
        got: idle.slice(0, 100),
      });
    };
    check("--keep", this.#keep, matrices, "no matrix that would be quantised has this name");
    const quantized = matrices.filter((source) => !this.keeps(source));
    check("--bits8", this.#eightBits, quantized, "no matrix that is quantised has this name");
  }

  /** What becomes of a matrix; undefined where it stays. Throws ERR_ARGUMENT where groups do not divide its inputs. */
  of({ name, N, K }: Pick<MatrixSource, "name" | "N" | "K">): MatrixChoice | undefined {
    if (this.keeps({ name, N })) return undefined;
    const outer = roleOf(name) === "outer";
    const eight = this.#eightBits.some((pattern) => matches(pattern, name));
    const bits = eight ? 8 : outer ? (this.embedding as 4 | 8) : this.bits;
    const groupSize = this.groupSize === -1 ? K : this.groupSize;
    if (K % groupSize !== 0)
      throw new HalfbyteError("ERR_ARGUMENT", `groups of ${groupSize} do not divide ${K} inputs`, {
        place: name,
        remedy: "take another group size, or keep this matrix as it is",
      });
    const grid = { ...this.#rules.grid(bits, this.symmetric, K), bits, groupSize };
    // Embeddings have no inputs to be fitted to.
    const method = outer && this.method !== "rtn" ? "search" : this.method;
    const blocks = this.#rules.blocks?.[bits];
    return { grid, blocks: blocks === "Q4_K" && grid.superSize === undefined ? "Q4_1" : blocks, method };
  }

  /** All that the result follows from, but for the weights and the text. */
  get key(): string {
    const { encoding, method, groupSize, bits, symmetric, damping, actOrder, embedding } = this;
    return JSON.stringify([
      encoding,
      method,
      groupSize,
      bits,
      symmetric,
      damping,
      actOrder,
      embedding,
      this.#keep,
      this.#eightBits,
    ]);
  }
}

/** Routers of experts and gates of heads are small, and what they choose is not to be rounded. */
const NEVER = /(^|\.)(norm|[a-z_]*layernorm|[a-z_]*norm|router|g_proj|ffn_gate_inp|gate)\.weight$/;
const IN_LAYER = /(^|\.)(layers|blk)\.\d+\..+\.weight$/;
const OUTER = /(^|\.)(embed_tokens|lm_head|token_embd|output)\.weight$/;

function roleOf(name: string): "layer" | "outer" | undefined {
  if (IN_LAYER.test(name)) return NEVER.test(name) ? undefined : "layer";
  return OUTER.test(name) ? "outer" : undefined;
}

/** Names in a message. */
const SHOWN_NAMES = 8;

/** `self_attn.q_proj` of `model.layers.3.self_attn.q_proj.weight`. */
function withoutLayer(name: string): string {
  return name.replace(/^.*?\b(layers|blk)\.\d+\./, "").replace(/\.weight$/, "");
}

/** The whole name, or all of it after a dot, with or without `.weight`. */
function matches(pattern: string, name: string): boolean {
  const parts = name.replace(/\.weight$/, "").split(".");
  const bare = pattern.replace(/\.weight$/, "");
  return parts.some((_, i) => fits(bare, parts.slice(i).join(".")));
}

function fits(pattern: string, text: string): boolean {
  const [first, ...rest] = pattern.split("*");
  if (rest.length === 0) return first === text;
  if (!text.startsWith(first!)) return false;
  const last = rest.pop()!;
  let at = first!.length;
  for (const piece of rest) {
    const found = text.indexOf(piece, at);
    if (found < 0) return false;
    at = found + piece.length;
  }
  return text.length - last.length >= at && text.endsWith(last);
}

function oneOf<T>(place: string, value: T, known: readonly T[]): T {
  if (known.includes(value)) return value;
  throw refusal(place, known.join(", "), value);
}

/** A choice that the encoding has no place for, with the encodings that have. */
function unfit(place: string, problem: string, fits: (rules: EncodingRules) => boolean): HalfbyteError {
  const others = QUANTIZED_ENCODINGS.filter((encoding) => fits(RULES[encoding]));
  return new HalfbyteError("ERR_ARGUMENT", problem, { place, remedy: `possible with --to ${others.join(", ")}` });
}

function refusal(place: string, expected: string, got: unknown): HalfbyteError {
  return new HalfbyteError("ERR_ARGUMENT", "unusable choice", { place, expected, got: String(got).slice(0, 100) });
}
