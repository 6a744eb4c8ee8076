import { ARRIVED, EPOCH, FINISHED } from "./control";

/** Looks at the epoch before going to sleep: some 30 µs, about what a sleep and a wake cost. */
const SPINS = 20000;
/** Nanoseconds of one sleep: a lost wake costs no more than this. */
const SLEEP: i64 = 1000000;

/** Waits until all threads are here. What any of them wrote before is seen by all after. */
export function barrier(threads: i32): void {
  if (!ASC_FEATURE_THREADS || threads == 1) return;
  const epoch = atomic.load<i32>(EPOCH);
  if (atomic.add<i32>(ARRIVED, 1) == threads - 1) {
    atomic.store<i32>(ARRIVED, 0);
    atomic.store<i32>(EPOCH, epoch + 1);
    atomic.notify(EPOCH, threads);
    return;
  }
  for (let i = 0; i < SPINS; i++) if (atomic.load<i32>(EPOCH) != epoch) return;
  while (atomic.load<i32>(EPOCH) == epoch) atomic.wait<i32>(EPOCH, epoch, SLEEP);
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

/** Whether this thread is the last of a command. */
export function isLast(threads: i32): bool {
  if (!ASC_FEATURE_THREADS || threads == 1) return true;
  return atomic.add<i32>(FINISHED, 1) == threads - 1;
}
