const DAY_OF_ANY_MONTH = "(?:0[1-9]|1\\d|2[0-8])";
const LEAP_YEAR = "(?:\\d\\d(?:0[48]|[2468][048]|[13579][26])|(?:[02468][048]|[13579][26])00)";
const DATE = `(?:\\d{4}-(?:0[1-9]|1[0-2])-${DAY_OF_ANY_MONTH}|\\d{4}-(?:0[13-9]|1[0-2])-(?:29|30)|\\d{4}-(?:0[13578]|1[02])-31|${LEAP_YEAR}-02-29)`;
const HOUR_MINUTE = "(?:[01]\\d|2[0-3]):[0-5]\\d";
const TIME = `${HOUR_MINUTE}:[0-5]\\d(?:\\.\\d{1,9})?(?:Z|[+\\-]${HOUR_MINUTE})`;
const SHORT_LABEL = "[A-Za-z0-9](?:[A-Za-z0-9\\-]{0,30}[A-Za-z0-9])?";
const LABEL = "[A-Za-z0-9](?:[A-Za-z0-9\\-]*[A-Za-z0-9])?";
const BYTE = "(?:25[0-5]|2[0-4]\\d|1\\d\\d|[1-9]?\\d)";
const IPV4 = `${BYTE}(?:\\.${BYTE}){3}`;
const WORD = "[0-9A-Fa-f]{1,4}";
// "::" stands for at least one word of eight.
const IPV6_SHORT = Array.from({ length: 8 }, (_, before) => {
  const head = before > 0 ? `${WORD}(?::${WORD}){${before - 1}}` : "";
  const tail = before < 7 ? `(?:${WORD}(?::${WORD}){0,${6 - before}})?` : "";
  return `${head}::${tail}`;
});
const IPV6 = `(?:${WORD}(?::${WORD}){7}|${IPV6_SHORT.join("|")})`;
const URI_CHARACTER = "(?:[A-Za-z0-9._~!$&'()*+,;=:@\\-]|%[0-9A-Fa-f]{2})";
const URI = `[A-Za-z][A-Za-z0-9+.\\-]{0,15}://${LABEL}(?:\\.${LABEL})*(?::[1-9]\\d{0,3})?(?:/${URI_CHARACTER}*)*(?:\\?(?:${URI_CHARACTER}|[/?])*)?(?:#(?:${URI_CHARACTER}|[/?])*)?`;
const ATOM = "[A-Za-z0-9!#$%&'*+/=?^_`{|}~\\-]{1,32}";
const EMAIL = `${ATOM}(?:\\.${ATOM}){0,3}@(?:${LABEL}\\.)+[A-Za-z][A-Za-z0-9]{1,15}`;
const POINTER = "(?:/(?:[^~/]|~[01])*)*";

/**
 * Patterns of formats, of the whole text. Each gives only texts that are of the format; not always all of them: leap
 * seconds, quoted mailboxes and addresses of mixed notation are left out.
 */
export const FORMAT_PATTERNS: ReadonlyMap<string, string> = new Map([
  ["date", DATE],
  ["time", TIME],
  ["date-time", `${DATE}T${TIME}`],
  [
    "duration",
    "P(?:\\d{1,6}W|\\d{1,6}Y(?:\\d{1,6}M(?:\\d{1,6}D)?)?|\\d{1,6}M(?:\\d{1,6}D)?|\\d{1,6}D|T(?:\\d{1,6}H(?:\\d{1,6}M(?:\\d{1,6}S)?)?|\\d{1,6}M(?:\\d{1,6}S)?|\\d{1,6}S))",
  ],
  ["email", EMAIL],
  ["hostname", `${SHORT_LABEL}(?:\\.${SHORT_LABEL}){0,6}`],
  ["ipv4", IPV4],
  ["ipv6", IPV6],
  ["uuid", "[0-9A-Fa-f]{8}-[0-9A-Fa-f]{4}-[0-9A-Fa-f]{4}-[0-9A-Fa-f]{4}-[0-9A-Fa-f]{12}"],
  ["uri", URI],
  ["uri-reference", `(?:${URI}|(?:/${URI_CHARACTER}+)+)`],
  ["json-pointer", POINTER],
  ["byte", "(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?"],
]);

/** Formats that any text has. */
export const FREE_FORMATS: ReadonlySet<string> = new Set(["password", "binary"]);

/** Formats of numbers, with their bounds; no bound is one that every number of an answer keeps. */
export const NUMBER_FORMATS: ReadonlyMap<string, { readonly min: number; readonly max: number }> = new Map([
  ["int32", { min: -(2 ** 31), max: 2 ** 31 - 1 }],
  ["int64", { min: -Infinity, max: Infinity }],
  ["float", { min: -Infinity, max: Infinity }],
  ["double", { min: -Infinity, max: Infinity }],
]);
