import { HalfbyteError } from "../../errors.ts";
import type { ByteSource } from "../byte-source.ts";
import { shown } from "../shown.ts";
import { MAX_PARTS } from "./limits.ts";
import { GgufMetadata } from "./metadata.ts";
import { type GgufPart, type GgufTensor, parsePart } from "./parse.ts";

/** An open GGUF model, of one file or of several; tensors are read through their own `source`. */
export interface GgufFile {
  readonly version: 2 | 3;
  readonly alignment: number;
  /** Of the first file: the others have none but their place in the split. */
  readonly metadata: GgufMetadata;
  readonly tensors: ReadonlyMap<string, GgufTensor>;
  /** In the order of `split.no`. */
  readonly sources: readonly ByteSource[];
  /** Closes the sources. */
  close(): Promise<void>;
}

/**
 * Opens GGUF v2 or v3, little-endian: one file, or all files of a split model in any order. Reads the headers and tensor
 * tables and checks them whole; arrays and tensors stay in the file. The caller closes the sources if it throws:
 * ERR_FORMAT, ERR_TRUNCATED, ERR_LIMIT, ERR_UNSUPPORTED, and ERR_MISSING for a part of the split that is not there.
 *
 * Format: https://github.com/ggml-org/ggml/blob/master/docs/gguf.md
 */
export async function openGguf(source: ByteSource | readonly ByteSource[]): Promise<GgufFile> {
  const sources: readonly ByteSource[] = "readInto" in source ? [source] : source;
  if (sources.length === 0 || sources.length > MAX_PARTS) {
    throw new HalfbyteError("ERR_ARGUMENT", "unusable number of sources", {
      expected: `1 to ${MAX_PARTS}`,
      got: String(sources.length),
    });
  }
  const parts: GgufPart[] = [];
  for (const each of sources) parts.push(await parsePart(each));
  return joinParts(parts);
}

/**
 * Opens a GGUF by its file name: the other files of a split model (`NAME-00001-of-00003.gguf` …) are opened beside it.
 * `open` returns undefined for a file that does not exist. All that was opened is closed again if it throws.
 */
export async function openGgufByName(
  fileName: string,
  open: (fileName: string) => Promise<ByteSource | undefined>,
): Promise<GgufFile> {
  const names = splitFileNames(fileName) ?? [fileName];
  const opened: ByteSource[] = [];
  try {
    for (const name of names) {
      const source = await open(name);
      if (!source) {
        throw new HalfbyteError(
          "ERR_MISSING",
          names.length > 1 ? "a file of the split model is missing" : "no such file",
          {
            place: name,
            ...(names.length > 1 && { expected: `${names.length} files`, remedy: "fetch all of them" }),
          },
        );
      }
      opened.push(source);
    }
    return await openGguf(opened);
  } catch (error) {
    await Promise.allSettled(opened.map((source) => source.close()));
    throw error;
  }
}

/** All names of a split model from one of them, or undefined for a name that is not of the form `…-00001-of-00003.gguf`. */
export function splitFileNames(fileName: string): string[] | undefined {
  const match = /^(.*)-(\d{5})-of-(\d{5})\.gguf$/s.exec(fileName);
  const count = Number(match?.[3]);
  const number = Number(match?.[2]);
  if (!match || count < 1 || count > MAX_PARTS || number < 1 || number > count) return undefined;
  const digits = (index: number): string => String(index).padStart(5, "0");
  return Array.from({ length: count }, (_, i) => `${match[1]}-${digits(i + 1)}-of-${match[3]}.gguf`);
}

function joinParts(given: readonly GgufPart[]): GgufFile {
  const parts = inSplitOrder(given);
  const first = parts[0]!;
  const tensors = new Map<string, GgufTensor>();
  for (const part of parts) {
    for (const tensor of part.tensors.values()) {
      if (tensors.has(tensor.name)) {
        throw new HalfbyteError("ERR_FORMAT", `tensor ${shown(tensor.name)} is in two files of the split model`, {
          place: part.source.name,
        });
      }
      tensors.set(tensor.name, tensor);
    }
  }
  const metadata = new GgufMetadata(first.source, first.entries);
  const promised = metadata.integer("split.tensors.count", tensors.size);
  if (parts.length > 1 && promised !== tensors.size) {
    throw new HalfbyteError("ERR_MISSING", "the files of the split model have another number of tensors together", {
      place: first.source.name,
      expected: String(promised),
      got: String(tensors.size),
    });
  }
  const sources = parts.map((part) => part.source);
  return {
    version: first.version,
    alignment: first.alignment,
    metadata,
    tensors,
    sources,
    async close(): Promise<void> {
      await Promise.all(sources.map((source) => source.close()));
    },
  };
}

/** Holds each part to its place in the split, and the parts to be all there are. */
function inSplitOrder(parts: readonly GgufPart[]): readonly GgufPart[] {
  const ordered: GgufPart[] = new Array(parts.length);
  for (const part of parts) {
    const metadata = new GgufMetadata(part.source, part.entries);
    const count = metadata.integer("split.count", 0);
    const place = part.source.name;
    if (count <= 1 && parts.length === 1) return parts;
    if (count !== parts.length) {
      const missing = count > parts.length;
      throw new HalfbyteError(
        missing ? "ERR_MISSING" : "ERR_FORMAT",
        "not all files, and only those, of one split model",
        {
          place,
          expected: `${count || 1} files`,
          got: String(parts.length),
          remedy:
            "give all files named …-00001-of-0000N.gguf; pieces without headers of their own are for joinedSource",
        },
      );
    }
    const number = metadata.integer("split.no");
    if (number < 0 || number >= count || ordered[number]) {
      throw new HalfbyteError("ERR_FORMAT", "unusable place in the split model", {
        place,
        expected: `split.no of 0 to ${count - 1}, each once`,
        got: String(number),
      });
    }
    ordered[number] = part;
  }
  return ordered;
}
