// A Node that does nothing: the baseline of memory.
import { report } from "./report-start.mjs";

report({});
