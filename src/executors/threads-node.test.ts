import { describe, expect, it } from "vitest";
import { cgroupQuota, cpuBudget } from "./threads-node.ts";

const quotaOf = (files: Record<string, string>): number | undefined => cgroupQuota((path) => files[path]);

describe("the CPU budget", () => {
  it("is at least one thread and at most the CPUs of the process", () => {
    const { threads, affinity, logical } = cpuBudget();
    expect(threads).toBeGreaterThanOrEqual(1);
    expect(threads).toBeLessThanOrEqual(affinity);
    expect(affinity).toBeLessThanOrEqual(logical);
  });

  it("takes the smallest quota of nested groups of version 2", () => {
    const files = {
      "/proc/self/cgroup": "0::/a/b\n",
      "/sys/fs/cgroup/a/b/cpu.max": "max 100000\n",
      "/sys/fs/cgroup/a/cpu.max": "150000 100000\n",
      "/sys/fs/cgroup/cpu.max": "400000 100000\n",
    };
    expect(quotaOf(files)).toBe(1.5);
  });

  it("reads version 1, where −1 is no limit", () => {
    const files = {
      "/proc/self/cgroup": "5:cpu,cpuacct:/docker/x\n3:memory:/docker/x\n",
      "/sys/fs/cgroup/cpu/cpu.cfs_quota_us": "200000\n",
      "/sys/fs/cgroup/cpu/cpu.cfs_period_us": "100000\n",
      "/sys/fs/cgroup/cpu/docker/x/cpu.cfs_quota_us": "-1\n",
      "/sys/fs/cgroup/cpu/docker/x/cpu.cfs_period_us": "100000\n",
    };
    expect(quotaOf(files)).toBe(2);
  });

  it("is not limited where there is nothing to read", () => {
    expect(quotaOf({})).toBeUndefined();
    expect(quotaOf({ "/proc/self/cgroup": "0::/\n", "/sys/fs/cgroup/cpu.max": "max 100000" })).toBeUndefined();
  });
});
