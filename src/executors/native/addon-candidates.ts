import { closeSync, openSync, readSync } from "node:fs";
import { createRequire } from "node:module";
import { fileURLToPath } from "node:url";
import { HalfbyteError } from "../../errors.ts";

const require: NodeJS.Require = createRequire(import.meta.url);

/** Where the addon may be. */
export interface AddonCandidate {
  /** A path, or a module of a package. */
  readonly place: string;
  /** What makes it loadable from there. */
  readonly remedy: string;
}

/** Platforms that npm/ has a package for. */
const PACKAGED: ReadonlySet<string> = new Set(["linux-x64-gnu", "linux-x64-musl", "linux-arm64-gnu", "darwin-arm64"]);

/** The build of this clone, then this platform's package; only what HALFBYTE_ADDON names, where it is set. */
export function addonCandidates(
  platform: string = platformName(),
  forced: string | undefined = process.env.HALFBYTE_ADDON,
): AddonCandidate[] {
  if (forced) return [{ place: forced, remedy: "unset HALFBYTE_ADDON" }];
  return [
    {
      place: fileURLToPath(new URL(`../../../build/native/halfbyte-${platform}.node`, import.meta.url)),
      remedy: "in a clone, npm run build with a C++20 compiler (g++ 11, clang++ 14, or later)",
    },
    {
      place: `halfbyte-${platform}/halfbyte.node`,
      remedy: PACKAGED.has(platform)
        ? `npm install halfbyte-${platform}, unless optional dependencies were left out on purpose`
        : `none: no package is made for ${platform}`,
    },
  ];
}

/** The first candidate that loads. Throws ERR_EXECUTOR that lists every one, a line each, with its failure and its remedy. */
export function loadFirst(candidates: readonly AddonCandidate[]): unknown {
  const failures: string[] = [];
  for (const { place, remedy } of candidates) {
    try {
      return require(place);
    } catch (error) {
      const [reason] = String((error as Error).message).split("\n");
      failures.push(`${place}: ${reason}; remedy: ${remedy}`);
    }
  }
  const places = failures.length === 1 ? "its place" : `any of ${failures.length} places`;
  throw new HalfbyteError("ERR_EXECUTOR", [`its addon does not load from ${places}`, ...failures].join("\n"));
}

/** Platform as the binary packages name it: linux-x64-gnu, darwin-arm64, … */
function platformName(): string {
  const { platform, arch } = process;
  if (platform !== "linux") return `${platform}-${arch}`;
  return `${platform}-${arch}-${runsOnMusl() ? "musl" : "gnu"}`;
}

/** Bytes at the start of a program, among which is the name of its dynamic loader. */
const HEADER_BYTES = 4096;

/** Whether this Node asks for musl's loader; `process.report` knows too, and takes some milliseconds. */
function runsOnMusl(): boolean {
  try {
    const file = openSync(process.execPath, "r");
    try {
      const header = Buffer.alloc(HEADER_BYTES);
      readSync(file, header, 0, HEADER_BYTES, 0);
      return header.includes("/ld-musl-");
    } finally {
      closeSync(file);
    }
  } catch {
    return false;
  }
}
