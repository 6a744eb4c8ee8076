import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { Candidates } from "./candidates.ts";
import { LogitScan } from "./logit-scan.ts";

/** Sums of masses in another order, and f32 weights, differ by less; nearer than this, a test case is passed over. */
const MASS_MARGIN = 1e-6;

const logitArrays = fc.oneof(
  fc.array(fc.float({ min: -30, max: 30, noNaN: true }), { minLength: 1, maxLength: 600 }),
  // Few values, so that many are equal.
  fc.array(fc.integer({ min: -3, max: 3 }), { minLength: 1, maxLength: 600 }),
);
const temperatures = fc.double({ min: 0.05, max: 5, noNaN: true });
const fractions = fc.double({ min: 0, max: 0.999, noNaN: true });

interface Entry {
  id: number;
  distance: number;
  p: number;
}

/** What the filters are to do, in f64 with full sorts. */
function entriesOf(logits: Float32Array, temperature: number): Entry[] {
  const highest = logits.reduce((a, b) => Math.max(a, b));
  const all = Array.from(logits, (logit, id) => ({ id, distance: Math.fround(highest - logit) }));
  const present = all.filter(({ distance }) => Math.exp(-distance / temperature) > 1e-45);
  const sum = present.reduce((total, { distance }) => total + Math.exp(-distance / temperature), 0);
  return present.map((entry) => ({ ...entry, p: Math.exp(-entry.distance / temperature) / sum }));
}

/** Ids of the shortest prefix that reaches the mass, or undefined where rounding may decide. */
function prefixByMass(ordered: Entry[], mass: number): number[] | undefined {
  const kept: number[] = [];
  let sum = 0;
  for (const { id, p } of ordered) {
    kept.push(id);
    sum += p;
    if (Math.abs(sum - mass) < MASS_MARGIN) return undefined;
    if (sum >= mass) break;
  }
  return kept.sort((a, b) => a - b);
}

const byDistance = (a: Entry, b: Entry): number => a.distance - b.distance || a.id - b.id;

function filled(values: ArrayLike<number>, temperature?: number, allowed?: Uint32Array): Candidates {
  const logits = Float32Array.from(values);
  const scan = new LogitScan();
  if (allowed) scan.allowed(logits, allowed);
  else scan.all(logits);
  const candidates = new Candidates();
  candidates.fill(logits, scan, Infinity, allowed);
  if (temperature !== undefined) candidates.weigh(temperature);
  return candidates;
}

const idsOf = (candidates: Candidates): number[] => Array.from(candidates.ids.subarray(0, candidates.count));

describe("candidates", () => {
  it("keep the k most likely, of equals the lower ids", () => {
    fc.assert(
      fc.property(logitArrays, fc.integer({ min: 1, max: 700 }), (values, k) => {
        const logits = Float32Array.from(values);
        const candidates = filled(logits);
        candidates.keepTopK(k);
        const highest = logits.reduce((a, b) => Math.max(a, b));
        const ordered = Array.from(logits, (logit, id) => ({ id, distance: Math.fround(highest - logit), p: 0 }));
        const want = ordered.sort(byDistance).slice(0, k);
        expect(idsOf(candidates)).toEqual(want.map(({ id }) => id).sort((a, b) => a - b));
      }),
    );
  });

  it("keep the shortest run of most likely tokens with the top-p mass", () => {
    fc.assert(
      fc.property(logitArrays, temperatures, fractions, (values, temperature, topP) => {
        const want = prefixByMass(entriesOf(Float32Array.from(values), temperature).sort(byDistance), topP);
        fc.pre(want !== undefined);
        const candidates = filled(values, temperature);
        candidates.keepTopP(topP);
        expect(idsOf(candidates)).toEqual(want);
      }),
    );
  });

  it("hold at least the top-p mass, and less without their least likely token", () => {
    fc.assert(
      fc.property(logitArrays, temperatures, fractions, (values, temperature, topP) => {
        const candidates = filled(values, temperature);
        const total = candidates.totalWeight();
        candidates.keepTopP(topP);
        const kept = candidates.totalWeight();
        const least = Math.min(...candidates.weights.subarray(0, candidates.count));
        expect(kept / total).toBeGreaterThanOrEqual(topP - MASS_MARGIN);
        if (candidates.count > 1) expect((kept - least) / total).toBeLessThanOrEqual(topP + MASS_MARGIN);
      }),
    );
  });

  it("keep the shortest run of most typical tokens with the typical mass", () => {
    fc.assert(
      fc.property(logitArrays, temperatures, fractions, (values, temperature, typicalP) => {
        const entries = entriesOf(Float32Array.from(values), temperature);
        const entropy = entries.reduce((sum, { p }) => sum - (p > 0 ? p * Math.log(p) : 0), 0);
        const off = ({ p }: Entry): number => Math.abs(-Math.log(p) - entropy);
        const ordered = [...entries].sort((a, b) => off(a) - off(b) || a.id - b.id);
        const want = prefixByMass(ordered, typicalP);
        fc.pre(want !== undefined);
        // The set is settled only if the last one in and the first one out differ by more than rounding, or are equal.
        const inside = new Set(want);
        const last = Math.max(...entries.filter(({ id }) => inside.has(id)).map(off));
        const next = entries.filter(({ id }) => !inside.has(id)).map(off);
        fc.pre(next.every((value) => Math.abs(value - last) > 1e-5 * (1 + last)));
        const candidates = filled(values, temperature);
        candidates.keepTypical(typicalP);
        expect(idsOf(candidates)).toEqual(want);
      }),
    );
  });

  it("keep tokens of at least min-p times the highest probability", () => {
    fc.assert(
      fc.property(logitArrays, temperatures, fractions, (values, temperature, minP) => {
        const entries = entriesOf(Float32Array.from(values), temperature);
        const highest = Math.max(...entries.map(({ p }) => p));
        fc.pre(entries.every(({ p }) => Math.abs(p / highest - minP) > MASS_MARGIN || p === highest));
        const candidates = filled(values, temperature);
        candidates.keepMinP(minP);
        expect(idsOf(candidates)).toEqual(entries.filter(({ p }) => p >= minP * highest).map(({ id }) => id));
      }),
    );
  });

  it("always keep one token", () => {
    fc.assert(
      fc.property(logitArrays, temperatures, (values, temperature) => {
        for (const filter of ["keepTopP", "keepTypical"] as const) {
          const candidates = filled(values, temperature);
          candidates[filter](0);
          expect(candidates.count).toBe(1);
        }
        const candidates = filled(values, temperature);
        candidates.keepMinP(1);
        expect(candidates.count).toBeGreaterThan(0);
      }),
    );
  });

  it("start as the allowed tokens alone", () => {
    fc.assert(
      fc.property(logitArrays, fc.infiniteStream(fc.boolean()), (values, stream) => {
        const allow = values.map(() => stream.next().value === true);
        fc.pre(allow.includes(true));
        const mask = new Uint32Array(Math.ceil(values.length / 32));
        for (let id = 0; id < allow.length; id++) if (allow[id]) mask[id >>> 5]! |= 1 << (id & 31);
        const want = allow.flatMap((yes, id) => (yes ? [id] : []));
        expect(idsOf(filled(values, undefined, mask))).toEqual(want);
      }),
    );
  });

  it("are found within a distance that holds k of them", () => {
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 40 }), fc.integer(), (k, seed) => {
        let state = seed;
        const logits = Float32Array.from({ length: 5000 }, () => {
          state = (Math.imul(state, 1664525) + 1013904223) | 0;
          return Math.round(state / 2 ** 24) / 8;
        });
        const scan = new LogitScan();
        scan.all(logits);
        const near = new Candidates();
        near.fill(logits, scan, scan.distanceHolding(k), undefined);
        near.keepTopK(k);
        const all = filled(logits);
        all.keepTopK(k);
        expect(near.count).toBe(Math.min(k, 5000));
        expect(idsOf(near)).toEqual(idsOf(all));
      }),
    );
  });

  it("bear logits at the ends of f32, where the distance overflows", () => {
    const candidates = filled([3.4e38, -3.4e38, 3.4e38, 0], 1);
    expect(idsOf(candidates)).toEqual([0, 2]);
    candidates.keepTypical(0.9);
    candidates.keepTopP(0.9);
    expect(idsOf(candidates)).toEqual([0, 2]);
  });

  it("leave when their weight is 0 in f32, so that no filter can end on them alone", () => {
    const candidates = filled([0, -103, -104, -200, -800], 1);
    expect(idsOf(candidates)).toEqual([0, 1]);
    expect(Math.min(...candidates.weights.subarray(0, 2))).toBeGreaterThan(0);
  });

  it("are the same however many came before", () => {
    const reused = new Candidates();
    const scan = new LogitScan();
    for (const size of [1000, 10, 300]) {
      const logits = Float32Array.from({ length: size }, (_, i) => Math.sin(i * 12.9898) * 5);
      scan.all(logits);
      reused.fill(logits, scan, Infinity, undefined);
      reused.weigh(0.8);
      reused.keepTypical(0.95);
      reused.keepTopP(0.9);
      const fresh = filled(logits, 0.8);
      fresh.keepTypical(0.95);
      fresh.keepTopP(0.9);
      expect(idsOf(reused)).toEqual(idsOf(fresh));
    }
  });
});
