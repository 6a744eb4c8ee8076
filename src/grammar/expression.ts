import { grammarError } from "./grammar-error.ts";

/** An edge of an automaton: the bytes of one character, and the state they lead to. */
export interface CharacterEdge {
  readonly character: Expression;
  readonly to: number;
}

/** A finite automaton whose every state can still reach an accepting one. */
export interface CharacterAutomaton {
  readonly edges: readonly (readonly CharacterEdge[])[];
  readonly accepting: readonly boolean[];
}

export interface Rule {
  readonly name: string;
  body: Expression | undefined;
}

type Shape =
  | { readonly kind: "empty" }
  /** One byte of a set. */
  | { readonly kind: "bytes"; readonly has: Uint8Array }
  | { readonly kind: "sequence"; readonly first: Expression; readonly rest: Expression }
  | { readonly kind: "choice"; readonly of: readonly Expression[] }
  | { readonly kind: "repeat"; readonly item: Expression; readonly min: number; readonly max: number }
  | { readonly kind: "rule"; readonly rule: Rule }
  | { readonly kind: "state"; readonly automaton: CharacterAutomaton; readonly state: number }
  /** What stands below a stack that was cut off; see token-masks.ts. */
  | { readonly kind: "hole"; readonly number: number };

/** A language over bytes. Equal expressions of one pool are the same object. */
export type Expression = Shape & {
  readonly id: number;
  /** Is the empty text one of its texts? Known once the pool is sealed. */
  nullable: boolean;
  /** Has it any text at all? Known once the pool is sealed. */
  productive: boolean;
};

/** Expressions a grammar may have: some hundred times a large schema, some megabytes. */
const MAX_EXPRESSIONS = 200_000;
/** How deep expressions may begin with one another: the recogniser recurses along them. */
const MAX_NESTING = 1500;

/** Makes the expressions of one grammar, and what all of them need to know of each other. */
export class ExpressionPool {
  readonly empty: Expression;
  /** A byte's class: bytes of one class are alike to the whole grammar. Known once the pool is sealed. */
  readonly classOfByte: Uint8Array = new Uint8Array(256);
  /** A byte of each class. */
  byteOfClass: Uint8Array = new Uint8Array(1);
  readonly #byKey = new Map<string, Expression>();
  readonly #all: Expression[] = [];
  readonly #single: Expression[] = [];
  readonly #automata = new Map<CharacterAutomaton, number>();
  readonly #rules = new Map<Rule, Expression>();
  #sealed = false;

  constructor() {
    this.empty = this.#make("", { kind: "empty" });
  }

  /** A byte for which `has` is not 0. */
  bytes(has: Uint8Array): Expression {
    return this.#make(`b${has.join("")}`, { kind: "bytes", has });
  }

  byte(value: number): Expression {
    return (this.#single[value] ??= this.byteRange(value, value));
  }

  byteRange(low: number, high: number): Expression {
    return this.bytes(new Uint8Array(256).fill(1, low, high + 1));
  }

  /** The bytes of a text. */
  text(text: string): Expression {
    return this.sequence(...Array.from(new TextEncoder().encode(text), (byte) => this.byte(byte)));
  }

  sequence(...parts: readonly Expression[]): Expression {
    let result = this.empty;
    for (let i = parts.length - 1; i >= 0; i--) {
      const first = parts[i]!;
      if (first === this.empty) continue;
      result =
        result === this.empty
          ? first
          : this.#make(`s${first.id},${result.id}`, { kind: "sequence", first, rest: result });
    }
    return result;
  }

  choice(...of: readonly Expression[]): Expression {
    const distinct = [...new Set(of)];
    if (distinct.length === 1) return distinct[0]!;
    return this.#make(`c${distinct.map(({ id }) => id).join(",")}`, { kind: "choice", of: distinct });
  }

  /** The language without a text. */
  get nothing(): Expression {
    return this.choice();
  }

  optional(item: Expression): Expression {
    return this.choice(this.empty, item);
  }

  /** `max` may be Infinity. */
  repeat(item: Expression, min: number, max: number): Expression {
    if (max === 0) return this.empty;
    if (min === 1 && max === 1) return item;
    return this.#make(`r${item.id},${min},${max}`, { kind: "repeat", item, min, max });
  }

  /** A rule, whose body may come later. */
  rule(rule: Rule): Expression {
    const known = this.#rules.get(rule);
    if (known) return known;
    const made = this.#make(`R${this.#rules.size}`, { kind: "rule", rule });
    this.#rules.set(rule, made);
    return made;
  }

  state(automaton: CharacterAutomaton, state: number): Expression {
    let number = this.#automata.get(automaton);
    if (number === undefined) this.#automata.set(automaton, (number = this.#automata.size));
    return this.#make(`a${number},${state}`, { kind: "state", automaton, state });
  }

  hole(number: number): Expression {
    return this.#make(`h${number}`, { kind: "hole", number });
  }

  #make(key: string, shape: Shape): Expression {
    const known = this.#byKey.get(key);
    if (known) return known;
    if (!this.#sealed && this.#all.length >= MAX_EXPRESSIONS)
      throw grammarError("the grammar is too large", "grammar", { expected: `at most ${MAX_EXPRESSIONS} expressions` });
    const made: Expression = { ...shape, id: this.#byKey.size, nullable: false, productive: false };
    this.#byKey.set(key, made);
    if (this.#sealed) settle(made);
    else this.#all.push(made);
    return made;
  }

  /**
   * Ends the grammar; only repetitions, states and holes are made after that. Throws ERR_GRAMMAR for a rule without a
   * body, a rule that begins with itself, and nesting too deep.
   */
  seal(): void {
    for (const { name, body } of this.#rules.keys())
      if (!body) throw grammarError("there is no such rule", name, { remedy: "define it" });
    for (let changed = true; changed; ) {
      changed = false;
      for (const expression of this.#all) if (settle(expression)) changed = true;
    }
    checkNesting(this.#all);
    this.#sealed = true;
    this.#classifyBytes();
  }

  #classifyBytes(): void {
    const sets = this.#all.flatMap((expression) => (expression.kind === "bytes" ? [expression.has] : []));
    const classes = new Map<string, number>();
    const byteOfClass: number[] = [];
    for (let byte = 0; byte < 256; byte++) {
      const signature = sets.map((has) => has[byte]).join("");
      let number = classes.get(signature);
      if (number === undefined) {
        classes.set(signature, (number = classes.size));
        byteOfClass.push(byte);
      }
      this.classOfByte[byte] = number;
    }
    this.byteOfClass = Uint8Array.from(byteOfClass);
  }
}

/** Finds out what an expression's parts tell about it by now; true if that is news. */
function settle(expression: Expression): boolean {
  const { nullable, productive } = expression;
  switch (expression.kind) {
    case "empty":
      expression.nullable = expression.productive = true;
      break;
    case "bytes":
      expression.productive = expression.has.includes(1);
      break;
    case "hole":
      expression.productive = true;
      break;
    case "sequence":
      expression.nullable = expression.first.nullable && expression.rest.nullable;
      expression.productive = expression.first.productive && expression.rest.productive;
      break;
    case "choice":
      expression.nullable = expression.of.some((one) => one.nullable);
      expression.productive = expression.of.some((one) => one.productive);
      break;
    case "repeat":
      expression.nullable = expression.min === 0 || expression.item.nullable;
      expression.productive = expression.min === 0 || expression.item.productive;
      break;
    case "rule":
      expression.nullable = expression.rule.body?.nullable ?? false;
      expression.productive = expression.rule.body?.productive ?? false;
      break;
    case "state":
      expression.nullable = expression.automaton.accepting[expression.state]!;
      expression.productive = true;
      break;
  }
  return expression.nullable !== nullable || expression.productive !== productive;
}

/** What may stand at the very beginning of an expression. */
function beginnings(expression: Expression): readonly Expression[] {
  switch (expression.kind) {
    case "sequence":
      return expression.first.nullable ? [expression.first, expression.rest] : [expression.first];
    case "choice":
      return expression.of;
    case "repeat":
      return [expression.item];
    case "rule":
      return [expression.rule.body!];
    default:
      return [];
  }
}

/** Throws for an expression that begins with itself, and for a chain of beginnings longer than recursion can follow. */
function checkNesting(all: readonly Expression[]): void {
  const depths = new Map<Expression, number>();
  const open = new Set<Expression>();
  for (const root of all) {
    const path: { expression: Expression; parts: readonly Expression[]; next: number; depth: number }[] = [];
    const enter = (expression: Expression): void => {
      open.add(expression);
      path.push({ expression, parts: beginnings(expression), next: 0, depth: 1 });
    };
    if (!depths.has(root)) enter(root);
    while (path.length > 0) {
      const top = path.at(-1)!;
      const part = top.parts[top.next++];
      if (!part) {
        open.delete(top.expression);
        depths.set(top.expression, top.depth);
        path.pop();
        const parent = path.at(-1);
        if (parent) parent.depth = Math.max(parent.depth, top.depth + 1);
        continue;
      }
      const known = depths.get(part);
      if (known !== undefined) top.depth = Math.max(top.depth, known + 1);
      else if (open.has(part)) throw grammarError("the rule begins with itself", nameOf(path.map((p) => p.expression)));
      else enter(part);
      if (path.length > MAX_NESTING || top.depth > MAX_NESTING)
        throw grammarError("nested too deep", nameOf(path.map((p) => p.expression)));
    }
  }
}

function nameOf(path: readonly Expression[]): string {
  const last = path.findLast((expression) => expression.kind === "rule");
  return last?.kind === "rule" ? last.rule.name : "grammar";
}
