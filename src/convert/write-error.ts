import { HalfbyteError } from "../errors.ts";

/** What systems say by a code. */
const REASONS: Readonly<Record<string, string>> = {
  ENOENT: "its folder does not exist",
  ENOTDIR: "what should be its folder is a file",
  EACCES: "there is no permission to write there",
  EPERM: "there is no permission to write there",
  EROFS: "the file system is read-only",
  ENOSPC: "the disk is full",
  EDQUOT: "the quota of the disk is used up",
  EFBIG: "the file system takes no file so large",
  ENAMETOOLONG: "the name is too long",
  EMFILE: "too many files are open",
  EBUSY: "it is in use",
  EIO: "the disk failed",
};

/** Runs what writes to `place`; what the system refuses becomes ERR_IO with the reason in words. */
export async function writing<T>(place: string, run: () => Promise<T>): Promise<T> {
  try {
    return await run();
  } catch (cause) {
    if (cause instanceof HalfbyteError) throw cause;
    const { code } = cause as NodeJS.ErrnoException;
    const reason = REASONS[code ?? ""] ?? code ?? String(cause);
    throw new HalfbyteError("ERR_IO", `cannot write: ${reason}`, { place, cause });
  }
}
