import { parse, tokenize } from "@huggingface/jinja";
import { fail } from "./failure.ts";

interface Named {
  readonly value: string;
}
interface Operator {
  readonly value: string;
}

/** The syntax tree as @huggingface/jinja's parser makes it; the package does not export its types. */
export type Node =
  | { readonly type: "Program"; readonly body: readonly Node[] }
  | { readonly type: "Comment" | "Break" | "Continue" }
  | { readonly type: "If"; readonly test: Node; readonly body: readonly Node[]; readonly alternate: readonly Node[] }
  | ForNode
  | SetNode
  | MacroNode
  | CallStatementNode
  | { readonly type: "FilterStatement"; readonly filter: FilterName; readonly body: readonly Node[] }
  | { readonly type: "Identifier"; readonly value: string }
  | { readonly type: "StringLiteral"; readonly value: string }
  | { readonly type: "IntegerLiteral" | "FloatLiteral"; readonly value: number }
  | { readonly type: "ArrayLiteral" | "TupleLiteral"; readonly value: readonly Node[] }
  | { readonly type: "ObjectLiteral"; readonly value: ReadonlyMap<Node, Node> }
  | MemberNode
  | SliceNode
  | CallNode
  | BinaryNode
  | { readonly type: "UnaryExpression"; readonly operator: Operator; readonly argument: Node }
  | { readonly type: "FilterExpression"; readonly operand: Node; readonly filter: FilterName }
  | { readonly type: "TestExpression"; readonly operand: Node; readonly negate: boolean; readonly test: Named }
  | { readonly type: "SelectExpression"; readonly lhs: Node; readonly test: Node }
  | { readonly type: "Ternary"; readonly condition: Node; readonly trueExpr: Node; readonly falseExpr: Node }
  | ArgumentNode;

export interface ForNode {
  readonly type: "For";
  readonly loopvar: Node;
  readonly iterable: Node;
  readonly body: readonly Node[];
  readonly defaultBlock: readonly Node[];
}
export interface SetNode {
  readonly type: "Set";
  readonly assignee: Node;
  readonly value: Node | null;
  readonly body: readonly Node[];
}
interface MacroNode {
  readonly type: "Macro";
  readonly name: Named;
  readonly args: readonly Node[];
  readonly body: readonly Node[];
}
export interface CallStatementNode {
  readonly type: "CallStatement";
  readonly call: CallNode;
  readonly callerArgs: readonly Node[] | null;
  readonly body: readonly Node[];
}
interface MemberNode {
  readonly type: "MemberExpression";
  readonly object: Node;
  readonly property: Node;
  readonly computed: boolean;
}
interface SliceNode {
  readonly type: "SliceExpression";
  readonly start: Node | undefined;
  readonly stop: Node | undefined;
  readonly step: Node | undefined;
}
export interface CallNode {
  readonly type: "CallExpression";
  readonly callee: Node;
  readonly args: readonly Node[];
}
interface BinaryNode {
  readonly type: "BinaryExpression";
  readonly operator: Operator;
  readonly left: Node;
  readonly right: Node;
}
type ArgumentNode =
  | { readonly type: "KeywordArgumentExpression"; readonly key: Named; readonly value: Node }
  | { readonly type: "SpreadExpression" | "KeywordSpreadExpression"; readonly argument: Node };
export type FilterName = { readonly type: "Identifier"; readonly value: string } | CallNode;

/** UTF-16 units. The longest templates known are near 30,000. */
const MAX_TEMPLATE = 1 << 18;
// The library's lexer takes time quadratic in a run of white space.
const MAX_WHITE_SPACE = 2048;

/** Parses a template with transformers' settings. Throws ERR_CHAT_TEMPLATE for what is no template, or too large. */
export function parseTemplate(source: string): readonly Node[] {
  if (source.length > MAX_TEMPLATE) fail(`the template is longer than ${MAX_TEMPLATE} characters`);
  if (longestWhiteSpace(source) > MAX_WHITE_SPACE) {
    fail(`the template has more than ${MAX_WHITE_SPACE} characters of white space in a row`);
  }
  try {
    const tokens = tokenize(source.replace(/\r\n?/g, "\n"), { lstrip_blocks: true, trim_blocks: true });
    return (parse(tokens) as unknown as { body: readonly Node[] }).body;
  } catch (error) {
    const reason = error instanceof RangeError ? "it nests too deep" : (error as Error).message;
    return fail(`the template cannot be parsed: ${reason}`, error);
  }
}

function longestWhiteSpace(text: string): number {
  let longest = 0;
  let run = 0;
  for (let i = 0; i < text.length; i++) {
    run = /\s/.test(text[i]!) ? run + 1 : 0;
    if (run > longest) longest = run;
  }
  return longest;
}
