import { isAbsolute, join } from "node:path";
import { HalfbyteError } from "../errors.ts";
import { type Environment, homeFolder } from "./environment.ts";

/**
 * The folder where Halfbyte keeps what it fetched: HALFBYTE_CACHE, else `halfbyte` in XDG_CACHE_HOME, else where the
 * system keeps caches (~/.cache, ~/Library/Caches, %LOCALAPPDATA%). Nothing is created. Throws ERR_ARGUMENT.
 */
export function cacheFolder(environment: Environment = process.env): string {
  const chosen = environment.HALFBYTE_CACHE;
  if (chosen) {
    if (isAbsolute(chosen) && !chosen.includes("\0")) return chosen;
    throw new HalfbyteError("ERR_ARGUMENT", "is not a folder's full path", {
      place: "HALFBYTE_CACHE",
      expected: "an absolute path",
      got: JSON.stringify(chosen.slice(0, 200)),
    });
  }
  // The XDG base directory specification says that a relative path is to be ignored.
  const xdg = environment.XDG_CACHE_HOME;
  if (xdg && isAbsolute(xdg) && !xdg.includes("\0")) return join(xdg, "halfbyte");
  const remedy = "set HALFBYTE_CACHE to a folder for models";
  if (process.platform === "win32") {
    const local = environment.LOCALAPPDATA;
    if (local && isAbsolute(local)) return join(local, "halfbyte", "Cache");
    return join(homeFolder(environment, remedy), "AppData", "Local", "halfbyte", "Cache");
  }
  if (process.platform === "darwin") return join(homeFolder(environment, remedy), "Library", "Caches", "halfbyte");
  return join(homeFolder(environment, remedy), ".cache", "halfbyte");
}

/** The folder of the models, one folder in it for each. */
export function modelsFolder(environment: Environment): string {
  return join(cacheFolder(environment), "models");
}
