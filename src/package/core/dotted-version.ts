const form = /^(\d{1,15})(?:\.(\d{1,15}))?(?:\.(\d{1,15}))?(?:\.(\d{1,15}))?([^\d.\s].*)?$/;

/**
 * The one spelling of versions of up to four numbers: `1.0`, `01.0.0` and `1.0.0.0` are `1.0.0`. What
 * follows the numbers counts without its case. Undefined for what does not begin so.
 */
export function dottedKey(version: string): string | undefined {
  const match = form.exec(version);
  if (match === null) return undefined;
  const [major, minor, patch, revision] = match.slice(1, 5).map((digits) => BigInt(digits ?? 0));
  const last = revision === 0n ? "" : `.${revision}`;
  return `${major}.${minor}.${patch}${last}${(match[5] ?? "").toLowerCase()}`;
}
