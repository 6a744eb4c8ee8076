import { attribute, item, slice } from "./attributes.ts";
import { fail, quoted } from "./failure.ts";
import { applyFilter } from "./filters.ts";
import { CALL_STEPS, MAX_CALL_DEPTH, type Meter } from "./meter.ts";
import type { CallNode, CallStatementNode, FilterName, ForNode, Node, SetNode } from "./nodes.ts";
import { applyBinary, applySign } from "./operators.ts";
import { applyTest } from "./tests.ts";
import {
  Callable,
  type Dict,
  Float,
  isTrue,
  iterate,
  type Keywords,
  Namespace,
  toText,
  tuple,
  typeName,
  type Value,
} from "./values.ts";

/** Variables of one block; those of the blocks around it show through. */
class Scope {
  readonly variables: Dict;
  readonly #parent: Scope | undefined;

  constructor(parent: Scope | undefined, variables: Dict = new Map()) {
    this.#parent = parent;
    this.variables = variables;
  }

  lookup(name: string): Value {
    let scope: Scope | undefined = this;
    for (; scope; scope = scope.#parent) if (scope.variables.has(name)) return scope.variables.get(name);
    return undefined;
  }
}

/** How a run of statements ended: by itself, or by a `break` or `continue` for the loop around it. */
type Ending = "end" | "break" | "continue";

const noKeywords: Keywords = new Map();

/** Runs a parsed template once. The library's own interpreter is not used: docs/text.md says why. */
export class Interpreter {
  readonly #meter: Meter;
  #output: string[] = [];
  #outputLength = 0;
  #callDepth = 0;

  constructor(meter: Meter) {
    this.#meter = meter;
  }

  /** The text the statements print. Throws ERR_CHAT_TEMPLATE. */
  render(body: readonly Node[], globals: Dict): string {
    return this.#captured(body, new Scope(new Scope(undefined, globals)));
  }

  #captured(body: readonly Node[], scope: Scope): string {
    const outer = this.#output;
    const outerLength = this.#outputLength;
    this.#output = [];
    this.#outputLength = 0;
    const ending = this.#run(body, scope);
    if (ending !== "end") fail(`${ending} stands outside of a loop`);
    const text = this.#output.join("");
    this.#output = outer;
    this.#outputLength = outerLength;
    return text;
  }

  #print(text: string): void {
    this.#outputLength += text.length;
    this.#meter.joined(this.#outputLength);
    this.#output.push(text);
  }

  #run(body: readonly Node[], scope: Scope): Ending {
    for (const node of body) {
      const ending = this.#statement(node, scope);
      if (ending !== "end") return ending;
    }
    return "end";
  }

  #statement(node: Node, scope: Scope): Ending {
    this.#meter.step();
    switch (node.type) {
      case "Comment":
        break;
      case "Break":
        return "break";
      case "Continue":
        return "continue";
      case "If":
        return this.#run(isTrue(this.#evaluate(node.test, scope)) ? node.body : node.alternate, scope);
      case "For":
        return this.#for(node, scope);
      case "Set":
        this.#set(node, scope);
        break;
      case "Macro":
        scope.variables.set(node.name.value, this.#macro(node.name.value, node.args, node.body, scope));
        break;
      case "CallStatement":
        this.#print(toText(this.#callBlock(node, scope), this.#meter));
        break;
      case "FilterStatement":
        this.#print(toText(this.#filter(node.filter, this.#captured(node.body, new Scope(scope)), scope), this.#meter));
        break;
      default:
        this.#print(toText(this.#evaluate(node, scope), this.#meter));
    }
    return "end";
  }

  #for(node: ForNode, scope: Scope): Ending {
    const condition = node.iterable.type === "SelectExpression" ? node.iterable.test : undefined;
    const source = node.iterable.type === "SelectExpression" ? node.iterable.lhs : node.iterable;
    let items = iterate(this.#evaluate(source, scope), this.#meter);
    if (condition) {
      items = items.filter((value) => {
        const inner = new Scope(scope);
        this.#assign(node.loopvar, value, inner);
        return isTrue(this.#evaluate(condition, inner));
      });
    }
    if (items.length === 0) return this.#run(node.defaultBlock, scope);
    for (let i = 0; i < items.length; i++) {
      const inner = new Scope(scope, new Map([["loop", this.#loop(items, i)]]));
      this.#assign(node.loopvar, items[i], inner);
      if (this.#run(node.body, inner) === "break") break;
    }
    return "end";
  }

  #loop(items: readonly Value[], i: number): Dict {
    this.#meter.step();
    return new Map<string, Value>([
      ["index", i + 1],
      ["index0", i],
      ["revindex", items.length - i],
      ["revindex0", items.length - i - 1],
      ["first", i === 0],
      ["last", i === items.length - 1],
      ["length", items.length],
      ["previtem", items[i - 1]],
      ["nextitem", items[i + 1]],
      [
        "cycle",
        new Callable("cycle", (args) => (args.length > 0 ? args[i % args.length] : fail("cycle() needs an item"))),
      ],
    ]);
  }

  #set(node: SetNode, scope: Scope): void {
    const value = node.value ? this.#evaluate(node.value, scope) : this.#captured(node.body, new Scope(scope));
    this.#assign(node.assignee, value, scope);
  }

  #assign(target: Node, value: Value, scope: Scope): void {
    if (target.type === "Identifier") {
      scope.variables.set(target.value, value);
    } else if (target.type === "TupleLiteral") {
      const items = iterate(value, this.#meter);
      if (items.length !== target.value.length) {
        fail(`${items.length} values cannot be given to ${target.value.length} names`);
      }
      for (const [i, part] of target.value.entries()) this.#assign(part, items[i], scope);
    } else if (target.type === "MemberExpression" && !target.computed && target.property.type === "Identifier") {
      const object = this.#evaluate(target.object, scope);
      if (object instanceof Namespace) object.entries.set(target.property.value, value);
      else fail(`attributes of ${typeName(object)} cannot be set, only a namespace's`);
    } else fail("this cannot be assigned to");
  }

  #macro(name: string, parameters: readonly Node[], body: readonly Node[], scope: Scope): Callable {
    return new Callable(name, (args, keywords) => {
      if (++this.#callDepth > MAX_CALL_DEPTH) fail(`macros call each other more than ${MAX_CALL_DEPTH} deep`);
      this.#meter.step(CALL_STEPS);
      const inner = new Scope(scope);
      const left = new Map(keywords);
      const caller = left.get("caller");
      if (caller !== undefined) inner.variables.set("caller", caller);
      left.delete("caller");
      for (const [i, parameter] of parameters.entries()) {
        const named =
          parameter.type === "KeywordArgumentExpression" ? parameter.key.value : (parameter as { value: string }).value;
        let value = i < args.length ? args[i] : left.get(named);
        left.delete(named);
        if (value === undefined && parameter.type === "KeywordArgumentExpression") {
          value = this.#evaluate(parameter.value, inner);
        }
        inner.variables.set(named, value);
      }
      inner.variables.set("varargs", tuple(args.slice(parameters.length)));
      inner.variables.set("kwargs", left);
      const text = this.#captured(body, inner);
      this.#callDepth--;
      return text;
    });
  }

  #callBlock(node: CallStatementNode, scope: Scope): Value {
    const caller = this.#macro("caller", node.callerArgs ?? [], node.body, scope);
    return this.#call(node.call, scope, caller);
  }

  #call(node: CallNode, scope: Scope, caller?: Callable): Value {
    const called = this.#evaluate(node.callee, scope);
    const { args, keywords } = this.#arguments(node.args, scope);
    if (!(called instanceof Callable))
      return fail(`${describe(node.callee)} is ${typeName(called)} and cannot be called`);
    return called.call(args, caller ? new Map(keywords).set("caller", caller) : keywords);
  }

  #arguments(nodes: readonly Node[], scope: Scope): { args: Value[]; keywords: Keywords } {
    const args: Value[] = [];
    const keywords = new Map<string, Value>();
    for (const node of nodes) {
      if (node.type === "KeywordArgumentExpression") keywords.set(node.key.value, this.#evaluate(node.value, scope));
      else if (node.type === "SpreadExpression") {
        for (const value of iterate(this.#evaluate(node.argument, scope), this.#meter)) args.push(value);
      } else if (node.type === "KeywordSpreadExpression") {
        const dict = this.#evaluate(node.argument, scope);
        if (!(dict instanceof Map)) return fail(`** needs a dict, not ${typeName(dict)}`);
        for (const [key, value] of dict) keywords.set(key, value);
      } else args.push(this.#evaluate(node, scope));
    }
    return { args, keywords };
  }

  #filter(filter: FilterName, value: Value, scope: Scope): Value {
    if (filter.type === "Identifier") return applyFilter(filter.value, value, [], noKeywords, this.#meter);
    // The parser takes `value | filter().attribute` for a filter, and Jinja2 refuses it.
    if (filter.type !== "CallExpression" || filter.callee.type !== "Identifier") return fail("a filter must be named");
    const { args, keywords } = this.#arguments(filter.args, scope);
    return applyFilter(filter.callee.value, value, args, keywords, this.#meter);
  }

  #evaluate(node: Node, scope: Scope): Value {
    this.#meter.step();
    switch (node.type) {
      case "Identifier":
        return scope.lookup(node.value);
      case "StringLiteral":
      case "IntegerLiteral":
        return node.value;
      case "FloatLiteral":
        return new Float(node.value);
      case "ArrayLiteral":
        return node.value.map((entry) => this.#evaluate(entry, scope));
      case "TupleLiteral":
        return tuple(node.value.map((entry) => this.#evaluate(entry, scope)));
      case "ObjectLiteral":
        return this.#dict(node.value, scope);
      case "MemberExpression":
        return this.#member(node, scope);
      case "CallExpression":
        return this.#call(node, scope);
      case "FilterExpression":
        return this.#filter(node.filter, this.#evaluate(node.operand, scope), scope);
      case "TestExpression":
        return applyTest(node.test.value, this.#evaluate(node.operand, scope), [], this.#meter) !== node.negate;
      case "UnaryExpression": {
        const value = this.#evaluate(node.argument, scope);
        return node.operator.value === "not" ? !isTrue(value) : applySign(node.operator.value, value);
      }
      case "BinaryExpression": {
        const left = this.#evaluate(node.left, scope);
        const operator = node.operator.value;
        if (operator === "and") return isTrue(left) ? this.#evaluate(node.right, scope) : left;
        if (operator === "or") return isTrue(left) ? left : this.#evaluate(node.right, scope);
        return applyBinary(operator, left, this.#evaluate(node.right, scope), this.#meter);
      }
      case "SelectExpression":
        return isTrue(this.#evaluate(node.test, scope)) ? this.#evaluate(node.lhs, scope) : undefined;
      case "Ternary":
        return this.#evaluate(isTrue(this.#evaluate(node.condition, scope)) ? node.trueExpr : node.falseExpr, scope);
      default:
        return fail(`${node.type} is no expression`);
    }
  }

  #dict(entries: ReadonlyMap<Node, Node>, scope: Scope): Dict {
    const dict: Dict = new Map();
    for (const [keyNode, valueNode] of entries) {
      const key = this.#evaluate(keyNode, scope);
      if (typeof key !== "string") return fail(`the keys of a dict must be strings, not ${typeName(key)}`);
      dict.set(key, this.#evaluate(valueNode, scope));
    }
    return dict;
  }

  #member(node: Extract<Node, { type: "MemberExpression" }>, scope: Scope): Value {
    const object = this.#evaluate(node.object, scope);
    if (object === undefined) return fail(`${describe(node.object)} is undefined`);
    const { property } = node;
    if (!node.computed) {
      if (property.type === "Identifier") return attribute(object, property.value, this.#meter);
      return property.type === "IntegerLiteral"
        ? item(object, property.value, this.#meter)
        : fail("no attribute is named");
    }
    if (property.type !== "SliceExpression") return item(object, this.#evaluate(property, scope), this.#meter);
    const bound = (part: Node | undefined): Value => part && this.#evaluate(part, scope);
    return slice(object, bound(property.start), bound(property.stop), bound(property.step), this.#meter);
  }
}

/** A name for error messages: `message.role`. */
function describe(node: Node): string {
  if (node.type === "Identifier") return node.value.slice(0, 100);
  if (node.type !== "MemberExpression") return "a value";
  if (node.property.type === "Identifier" && !node.computed)
    return `${describe(node.object)}.${node.property.value.slice(0, 100)}`;
  return `${describe(node.object)}[${node.property.type === "StringLiteral" ? quoted(node.property.value) : "…"}]`;
}
