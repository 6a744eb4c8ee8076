import { existsSync, readFileSync } from "node:fs";

/** Prints what a process has used by now, as the last line. */
export function report(more) {
  const { user, system } = process.cpuUsage();
  console.log(JSON.stringify({ peakBytes: peakBytes(), processorSeconds: (user + system) / 1e6, ...more }));
}

/** Linux hands the `maxRSS` of a process on to those it starts; its own peak stands in /proc. */
function peakBytes() {
  const status = existsSync("/proc/self/status") ? readFileSync("/proc/self/status", "utf8") : "";
  const kilobytes = /^VmHWM:\s+(\d+) kB$/m.exec(status)?.[1];
  return 1024 * Number(kilobytes ?? process.resourceUsage().maxRSS);
}
