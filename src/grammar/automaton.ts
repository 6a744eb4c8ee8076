import { ALL_CODE_POINTS, type CodePoints, contains, intersect, ranges, unite } from "./code-points.ts";
import type { CharacterAutomaton, Expression, ExpressionPool } from "./expression.ts";
import { grammarError } from "./grammar-error.ts";

/** What regular expressions are made of. */
export type Pattern =
  | { readonly kind: "characters"; readonly set: CodePoints }
  | { readonly kind: "sequence"; readonly parts: readonly Pattern[] }
  | { readonly kind: "choice"; readonly of: readonly Pattern[] }
  | { readonly kind: "repeat"; readonly item: Pattern; readonly min: number; readonly max: number };

/** A deterministic automaton over code points; state 0 is the start, and a character without an edge leads nowhere. */
export interface Automaton {
  readonly edges: readonly (readonly { readonly set: CodePoints; readonly to: number }[])[];
  readonly accepting: readonly boolean[];
}

/** States of one automaton: a pattern that needs more is mostly counting, and lengths count cheaper. */
const MAX_STATES = 40_000;
/** Steps of one construction: some tenths of a second. Nested counts and hostile patterns come near it. */
const MAX_STEPS = 3_000_000;

export const ANY_TEXT: Pattern = {
  kind: "repeat",
  item: { kind: "characters", set: ALL_CODE_POINTS },
  min: 0,
  max: Infinity,
};

/** The steps a construction may still take. Throws ERR_GRAMMAR at the place when there are none left. */
class Budget {
  readonly place: string;
  #left = MAX_STEPS;

  constructor(place: string) {
    this.place = place;
  }

  spend(steps: number): void {
    this.#left -= steps;
    if (this.#left < 0) throw grammarError("the pattern takes too long to compile", this.place);
  }

  checkStates(count: number): void {
    if (count > MAX_STATES)
      throw grammarError("the pattern needs too many states", this.place, {
        expected: `at most ${MAX_STATES}`,
        remedy: "use smaller counts, or minLength and maxLength without a pattern",
      });
  }
}

/** Thompson's construction: states with at most two empty edges, or one edge for a set of characters. */
class PatternStates {
  readonly empty: number[][] = [];
  readonly sets: (CodePoints | undefined)[] = [];
  readonly to: number[] = [];
  readonly #budget: Budget;

  constructor(budget: Budget) {
    this.#budget = budget;
  }

  state(empty: number[], set?: CodePoints, to = 0): number {
    this.#budget.spend(1);
    if (this.sets.length >= 5 * MAX_STATES) this.#budget.checkStates(this.sets.length);
    this.empty.push(empty);
    this.to.push(to);
    return this.sets.push(set) - 1;
  }

  /** The state from which the pattern leads to `end`. */
  add(pattern: Pattern, end: number): number {
    switch (pattern.kind) {
      case "characters":
        return this.state([], pattern.set, end);
      case "sequence":
        return pattern.parts.reduceRight((to, part) => this.add(part, to), end);
      case "choice":
        return this.state(pattern.of.map((one) => this.add(one, end)));
      case "repeat": {
        const { item, min, max } = pattern;
        let to = end;
        if (max === Infinity) {
          const loop = this.state([end]);
          this.empty[loop]!.push(this.add(item, loop));
          to = loop;
        } else for (let i = min; i < max; i++) to = this.state([end, this.add(item, to)]);
        for (let i = 0; i < min; i++) to = this.add(item, to);
        return to;
      }
    }
  }

  /** Adds to `states` what empty edges reach. */
  close(states: Set<number>): void {
    for (const state of states) for (const to of this.empty[state]!) states.add(to);
    this.#budget.spend(states.size);
  }
}

/** The automaton of a pattern. Throws ERR_GRAMMAR at `place` for one too large. */
export function compilePattern(pattern: Pattern, place: string): Automaton {
  const budget = new Budget(place);
  const nfa = new PatternStates(budget);
  const end = nfa.state([]);
  const start = nfa.add(pattern, end);
  const classes = partition(
    nfa.sets.flatMap((set) => (set ? [set] : [])),
    budget,
  );
  const classesOf = new Map<CodePoints, readonly number[]>();
  for (const set of nfa.sets) if (set && !classesOf.has(set)) classesOf.set(set, classesWithin(classes, set));
  const first = new Set([start]);
  nfa.close(first);
  return explore([...first].sort(byValue), budget, (states) => {
    const targets = new Map<number, Set<number>>();
    for (const state of states) {
      const set = nfa.sets[state];
      if (!set) continue;
      const within = classesOf.get(set)!;
      budget.spend(within.length);
      for (const number of within) {
        let target = targets.get(number);
        if (!target) targets.set(number, (target = new Set()));
        target.add(nfa.to[state]!);
      }
    }
    return {
      accepting: states.includes(end),
      targets: Array.from(targets, ([number, target]) => {
        nfa.close(target);
        // Only states with characters or the end matter, and fewer sets differ without the others.
        const kept = [...target].filter((state) => nfa.sets[state] || state === end);
        return { set: classes[number]!, state: kept.sort(byValue) };
      }),
    };
  });
}

/** The texts of `a` that `b` has too, or with `differ` those that `b` has not. Throws ERR_GRAMMAR as `compilePattern`. */
export function combine(a: Automaton, b: Automaton, place: string, differ = false): Automaton {
  const budget = new Budget(place);
  const gone = b.edges.length;
  return explore([0, 0], budget, ([left, right]) => {
    const targets: { set: CodePoints; state: number[] }[] = [];
    for (const edge of a.edges[left!]!) {
      let rest = edge.set;
      for (const other of b.edges[right!] ?? []) {
        const both = intersect(rest, other.set);
        budget.spend(1 + both.length);
        if (both.length === 0) continue;
        targets.push({ set: both, state: [edge.to, other.to] });
        if (differ) rest = without(rest, both);
      }
      if (differ && rest.length > 0) targets.push({ set: rest, state: [edge.to, gone] });
    }
    const inB = b.accepting[right!] ?? false;
    return { accepting: a.accepting[left!]! && inB !== differ, targets };
  });
}

/** Texts of so many code points. */
export function lengthPattern(min: number, max: number): Pattern {
  return { kind: "repeat", item: { kind: "characters", set: ALL_CODE_POINTS }, min, max };
}

export function matches(automaton: Automaton, text: string): boolean {
  let state: number | undefined = 0;
  for (const character of text) {
    const codePoint = character.codePointAt(0)!;
    state = automaton.edges[state]!.find(({ set }) => contains(set, codePoint))?.to;
    if (state === undefined) return false;
  }
  return automaton.accepting[state]!;
}

/** Does it match no text at all? */
export function isVoid(automaton: Automaton): boolean {
  return !automaton.accepting.includes(true);
}

/** Its texts, each character spelt by `spell`. */
export function automatonExpression(
  pool: ExpressionPool,
  automaton: Automaton,
  spell: (set: CodePoints) => Expression,
): Expression {
  if (isVoid(automaton)) return pool.nothing;
  const spelt = new Map<string, Expression>();
  const edges = automaton.edges.map((from) =>
    from.map(({ set, to }) => {
      const key = set.join();
      let character = spelt.get(key);
      if (!character) spelt.set(key, (character = spell(set)));
      return { character, to };
    }),
  );
  const own: CharacterAutomaton = { edges, accepting: automaton.accepting };
  return pool.state(own, 0);
}

/** Numbers the states that can be reached, drops those from which nothing is accepted, and joins edges to one state. */
function explore(
  start: readonly number[],
  budget: Budget,
  look: (state: readonly number[]) => { accepting: boolean; targets: { set: CodePoints; state: readonly number[] }[] },
): Automaton {
  const numbers = new Map<string, number>([[start.join(), 0]]);
  const states = [start];
  const edges: { set: CodePoints; to: number }[][] = [];
  const accepting: boolean[] = [];
  for (let i = 0; i < states.length; i++) {
    const { accepting: accepts, targets } = look(states[i]!);
    const setsTo = new Map<number, CodePoints[]>();
    for (const { set, state } of targets) {
      budget.spend(1 + state.length);
      const key = state.join();
      let to = numbers.get(key);
      if (to === undefined) {
        numbers.set(key, (to = states.length));
        states.push(state);
        budget.checkStates(states.length);
      }
      const sets = setsTo.get(to);
      if (sets) sets.push(set);
      else setsTo.set(to, [set]);
    }
    accepting.push(accepts);
    edges.push(Array.from(setsTo, ([to, sets]) => ({ set: sets.length === 1 ? sets[0]! : unite(...sets), to })));
  }
  return trim({ edges, accepting });
}

function trim({ edges, accepting }: Automaton): Automaton {
  const sources: number[][] = edges.map(() => []);
  edges.forEach((from, state) => {
    for (const { to } of from) sources[to]!.push(state);
  });
  const alive = new Set(accepting.flatMap((accepts, state) => (accepts ? [state] : [])));
  for (const state of alive) for (const source of sources[state]!) alive.add(source);
  alive.add(0);
  const number = new Map([...alive].sort(byValue).map((state, index) => [state, index]));
  const kept = [...number.keys()];
  return {
    edges: kept.map((state) =>
      edges[state]!.flatMap(({ set, to }) => (number.has(to) ? [{ set, to: number.get(to)! }] : [])),
    ),
    accepting: kept.map((state) => accepting[state]!),
  };
}

/** The coarsest classes of characters of which each set is a union. */
function partition(sets: readonly CodePoints[], budget: Budget): CodePoints[] {
  const distinct = new Map(sets.map((set) => [set.join(), set]));
  let classes: CodePoints[] = [ALL_CODE_POINTS];
  for (const set of distinct.values()) {
    budget.spend(set.length);
    classes = classes.flatMap((old) => {
      const inside = intersect(old, set);
      budget.spend(old.length);
      if (inside.length === 0) return [old];
      const outside = without(old, set);
      return outside.length === 0 ? [old] : [inside, outside];
    });
  }
  return classes;
}

function classesWithin(classes: readonly CodePoints[], set: CodePoints): number[] {
  return classes.flatMap((one, number) => (contains(set, one[0]!) ? [number] : []));
}

function without(set: CodePoints, taken: CodePoints): CodePoints {
  const rest: number[] = [];
  let i = 0;
  for (const [from, to] of ranges(set)) {
    let start = from;
    while (i < taken.length && taken[i + 1]! < from) i += 2;
    for (let j = i; j < taken.length && taken[j]! <= to; j += 2) {
      if (taken[j]! > start) rest.push(start, taken[j]! - 1);
      start = taken[j + 1]! + 1;
    }
    if (start <= to) rest.push(start, to);
  }
  return rest;
}

function byValue(a: number, b: number): number {
  return a - b;
}
