/** A prefix and 32 hexadecimal digits, unguessable. */
export function newId(prefix: string): string {
  return prefix + crypto.randomUUID().replaceAll("-", "");
}
