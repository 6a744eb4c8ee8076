import { HalfbyteError } from "../errors.ts";
import { fail } from "./jinja/failure.ts";
import { strftime } from "./jinja/format.ts";
import { Interpreter } from "./jinja/interpreter.ts";
import { MAX_RANGE, Meter } from "./jinja/meter.ts";
import { type Node, parseTemplate } from "./jinja/nodes.ts";
import { Callable, type Dict, fromData, integer, Namespace, toText, type Value } from "./jinja/values.ts";

/** A turn of a conversation: `role`, `content`, and what else the template reads (tool calls, names …). */
export interface ChatMessage {
  readonly role: string;
  readonly content?: string | null | readonly unknown[];
  readonly [key: string]: unknown;
}

export interface ChatTemplateInput {
  readonly messages: readonly ChatMessage[];
  /** JSON schemas of functions the model may call. */
  readonly tools?: readonly unknown[] | null;
  readonly documents?: readonly unknown[] | null;
  /** End with the marker that makes the model answer. By default true. */
  readonly addGenerationPrompt?: boolean;
  /** Further variables of the template, by its own names; they win over all others. */
  readonly variables?: Readonly<Record<string, unknown>>;
}

export interface ChatTemplateOptions {
  /** The texts of the special tokens that templates name: `bos_token`, `eos_token` … */
  readonly specialTokens?: Readonly<Record<string, string>>;
  /** The clock of `strftime_now`, for reproducible prompts. By default the current time. */
  readonly now?: () => Date;
}

/** A model's chat template, in the environment that transformers gives it. */
export class ChatTemplate {
  readonly source: string;
  readonly #body: readonly Node[];
  readonly #specialTokens: Readonly<Record<string, string>>;
  readonly #now: () => Date;

  /** Parses the template. Throws ERR_CHAT_TEMPLATE for what is none. */
  constructor(source: string, options: ChatTemplateOptions = {}) {
    this.source = source;
    this.#body = parseTemplate(source);
    this.#specialTokens = options.specialTokens ?? {};
    this.#now = options.now ?? (() => new Date());
  }

  /**
   * The prompt for a conversation; encode it with `parseSpecial` and without a further beginning token if it has one.
   * Throws ERR_CHAT_TEMPLATE when the template refuses the conversation, uses what is not known here, or exceeds the
   * bounds of jinja/meter.ts.
   */
  render(input: ChatTemplateInput): string {
    const meter = new Meter();
    const data: Record<string, unknown> = {
      ...this.#specialTokens,
      messages: input.messages,
      tools: input.tools ?? null,
      documents: input.documents ?? null,
      add_generation_prompt: input.addGenerationPrompt ?? true,
      ...input.variables,
    };
    const globals = builtins(meter, this.#now);
    for (const [name, value] of Object.entries(data)) globals.set(name, fromData(value, meter));
    try {
      return new Interpreter(meter).render(this.#body, globals);
    } catch (error) {
      if (error instanceof RangeError) return fail("the template nests too deep", error);
      throw error;
    }
  }
}

function builtins(meter: Meter, now: () => Date): Dict {
  const globals: Dict = new Map<string, Value>([
    ["true", true],
    ["True", true],
    ["false", false],
    ["False", false],
    ["none", null],
    ["None", null],
  ]);
  const define = (name: string, call: Callable["call"]): void => {
    globals.set(name, new Callable(name, call));
  };
  define("raise_exception", ([message]) => {
    throw new HalfbyteError("ERR_CHAT_TEMPLATE", `the template refuses this conversation: ${toText(message, meter)}`, {
      place: "chat template",
    });
  });
  define("strftime_now", ([format]) => strftime(now(), toText(format, meter)));
  define("namespace", ([from], keywords) => new Namespace(new Map([...dictOf(from), ...keywords])));
  define("dict", ([from], keywords) => new Map([...dictOf(from), ...keywords]));
  define("range", (args) => range(args, meter));
  return globals;
}

function dictOf(value: Value): Dict {
  if (value === undefined) return new Map();
  return value instanceof Map ? value : fail("namespace() and dict() take a dict");
}

function range(args: readonly Value[], meter: Meter): Value {
  const [first, second, third] = args.map((value) => integer(value, "an argument of range"));
  if (first === undefined) return fail("range() needs an argument");
  const [start, stop, step] = second === undefined ? [0, first, 1] : [first, second, third ?? 1];
  if (step === 0) return fail("the step of a range is zero");
  const count = Math.max(0, Math.ceil((stop - start) / step));
  if (!(count <= MAX_RANGE)) return fail(`a range has more than ${MAX_RANGE} numbers`);
  meter.step(count);
  return Array.from({ length: count }, (_, i) => start + i * step);
}
