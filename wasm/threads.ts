import { ARRIVED, EPOCH, FINISHED, SLEEPERS } from "./control";

// Sleeping is done in JavaScript: around memory.atomic.wait32 the baseline compiler of V8 11.3 (Node 20) loses registers.

/** Sleeps until the epoch is another than `epoch`, or for a millisecond. */
@external("env", "sleep")
declare function sleep(epoch: i32): void;

/** Wakes all who sleep. */
@external("env", "wake")
declare function wake(): void;

/** Looks at the epoch before going to sleep: some 30 µs, about what a sleep and a wake cost. */
const SPINS: i32 = 20000;

/** Waits until all threads are here. What any of them wrote before is seen by all after. */
export function barrier(threads: i32): void {
  if (enter(threads)) leave(threads);
}

/** True for the last thread to come, which must `leave`; the others wait until it does. */
export function enter(threads: i32): bool {
  if (!ASC_FEATURE_THREADS || threads == 1) return true;
  const epoch = atomic.load<i32>(EPOCH);
  if (atomic.add<i32>(ARRIVED, 1) == threads - 1) return true;
  for (let i = 0; i < SPINS; i++) if (atomic.load<i32>(EPOCH) != epoch) return false;
  atomic.add<i32>(SLEEPERS, 1);
  while (atomic.load<i32>(EPOCH) == epoch) sleep(epoch);
  atomic.sub<i32>(SLEEPERS, 1);
  return false;
}

/** Lets the threads go that wait in `enter`. */
export function leave(threads: i32): void {
  if (!ASC_FEATURE_THREADS || threads == 1) return;
  atomic.store<i32>(ARRIVED, 0);
  atomic.add<i32>(EPOCH, 1);
  // Who is counted as a sleeper after this look finds the new epoch and does not sleep.
  if (atomic.load<i32>(SLEEPERS)) wake();
}

/** The first of `count` pieces of work that nobody else has taken. */
// @ts-ignore: decorator
@inline
export function claim(counter: usize, count: i32): i32 {
  if (ASC_FEATURE_THREADS) return atomic.add<i32>(counter, count);
  const first = load<i32>(counter);
  store<i32>(counter, first + count);
  return first;
}

/**
 * Half of what is left of `size` pieces, or all of it for a single thread: the number of the first in the high word, how
 * many in the low one. 0 when none is left.
 */
export function take(counter: usize, size: i32, threads: i32): i64 {
  for (;;) {
    const first = ASC_FEATURE_THREADS ? atomic.load<i32>(counter) : load<i32>(counter);
    const left = size - first;
    if (left <= 0) return 0;
    const count = threads == 1 ? left : (left + 1) >> 1;
    if (ASC_FEATURE_THREADS) {
      if (atomic.cmpxchg<i32>(counter, first, first + count) != first) continue;
    } else store<i32>(counter, first + count);
    return (<i64>first << 32) | <i64>count;
  }
}

/** Whether this thread is the last of a command. */
export function isLast(threads: i32): bool {
  if (!ASC_FEATURE_THREADS || threads == 1) return true;
  return atomic.add<i32>(FINISHED, 1) == threads - 1;
}
