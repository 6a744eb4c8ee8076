import { HalfbyteError } from "../errors.ts";

const REMEDIES: Readonly<Record<string, readonly [problem: string, remedy: string]>> = {
  ENOSPC: ["the disk is full", "free some space or set HALFBYTE_CACHE to a folder on another disk"],
  EDQUOT: ["the disk quota is used up", "free some space or set HALFBYTE_CACHE to a folder on another disk"],
  EACCES: ["permission denied", "make the folder writable or set HALFBYTE_CACHE to another"],
  EPERM: ["permission denied", "make the folder writable or set HALFBYTE_CACHE to another"],
  EROFS: ["the file system is read-only", "set HALFBYTE_CACHE to a folder that can be written"],
  EFBIG: ["the file system does not hold files of this size", "set HALFBYTE_CACHE to a folder on another disk"],
  ENAMETOOLONG: ["the path is too long", "set HALFBYTE_CACHE to a folder with a shorter path"],
  EEXIST: ["a file is in the way of a folder", "set HALFBYTE_CACHE to another folder"],
  ENOTDIR: ["a part of the path is a file, not a folder", "set HALFBYTE_CACHE to another folder"],
};

/** ERR_IO for what the file system said; an error that is already typed, or not the file system's, stays as it is. */
export function ioError(error: unknown, place: string): unknown {
  const code = (error as NodeJS.ErrnoException | undefined)?.code;
  if (error instanceof HalfbyteError || typeof code !== "string" || !/^E[A-Z0-9]+$/.test(code)) return error;
  const [problem, remedy] = REMEDIES[code] ?? [`reading or writing failed (${code})`, undefined];
  return new HalfbyteError("ERR_IO", problem, { place, ...(remedy && { remedy }), cause: error });
}
