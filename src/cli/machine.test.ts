import { describe, expect, it } from "vitest";
import { parseCpuInfo, readMachine } from "./machine.ts";

describe("the machine", () => {
  it("is read from /proc/cpuinfo of x86", () => {
    const text =
      "processor\t: 0\nmodel name\t: Some CPU @ 2 GHz\nflags\t\t: fpu sse4_1 avx2 ht avx512_vnni\n\nprocessor\t: 1\n";
    expect(parseCpuInfo(text)).toEqual({ model: "Some CPU @ 2 GHz", features: ["sse4_1", "avx2", "avx512_vnni"] });
  });

  it("is read from /proc/cpuinfo of Arm, which may name no model", () => {
    expect(parseCpuInfo("processor : 0\nFeatures : fp asimd asimddp i8mm\n")).toEqual({
      features: ["asimd", "asimddp", "i8mm"],
    });
  });

  it("has memory and a name here", () => {
    const { cpu, totalMemory, availableMemory } = readMachine();
    expect(cpu.length).toBeGreaterThan(0);
    expect(availableMemory).toBeGreaterThan(0);
    expect(totalMemory).toBeGreaterThan(0);
  });
});
