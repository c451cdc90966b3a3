/**
 * Versions and ranges as NuGet.Versioning reads them (NuGetVersion.TryParse, VersionRange.TryParse with floating
 * versions), frameworks as far as NuGetFramework.Parse refuses them.
 */

const numbersForm = /^\d{1,30}(?:\.\d{1,30}){0,3}$/;
const numberMax = 2n ** 31n - 1n;
const labelForm = /^[0-9A-Za-z-]+$/;
const rangeLengthMax = 512;

const areLabels = (text: string, takesZeros: boolean): boolean =>
  text.split(".").every((label) => labelForm.test(label) && (takesZeros || !/^0\d+$/.test(label)));

const areNumbers = (text: string): boolean =>
  numbersForm.test(text) && text.split(".").every((part) => BigInt(part) <= numberMax);

export function isNugetVersion(version: string): boolean {
  const [whole = "", build, ...more] = version.split("+");
  const dash = whole.indexOf("-");
  const labels = dash < 0 ? undefined : whole.slice(dash + 1);
  return (
    more.length === 0 &&
    areNumbers(dash < 0 ? whole : whole.slice(0, dash)) &&
    (labels === undefined || areLabels(labels, false)) &&
    (build === undefined || areLabels(build, true))
  );
}

/** With a star at the end of the numbers, or of the labels, or of both: FloatRange.TryParse. */
function isFloating(version: string): boolean {
  const [numbers = "", ...rest] = version.split("-");
  const labels = rest.length === 0 ? undefined : rest.join("-");
  const areFloating = /^(?:\d{1,30}\.){0,3}\*$/.test(numbers);
  if (!areFloating && !numbersForm.test(numbers)) return false;
  if (!numbers.split(".").every((part) => part === "*" || BigInt(part) <= numberMax)) return false;
  if (labels === undefined) return areFloating;
  if (labels === "*") return true;
  if (!labels.endsWith("*")) return false;
  const fixed = labels.slice(0, -1).replace(/\.$/, "");
  return areLabels(fixed, false);
}

const isAtLeast = (version: string): boolean => isNugetVersion(version) || isFloating(version);

/** @param compare order of versions */
export function isNugetRange(
  range: string,
  compare: (one: string, other: string) => number,
): boolean {
  const text = range.trim();
  if (text === "" || text.length > rangeLengthMax) return false;
  if (!/^[[(]/.test(text)) return isAtLeast(text);
  const [, first = "", inside = "", last = ""] = /^([[(])([^[\]()]*)([\])])$/.exec(text) ?? [];
  if (first === "" || last === "") return false;
  const bounds = inside.split(",").map((part) => part.trim());
  const [lower = "", upper, ...more] = bounds;
  if (more.length > 0) return false;
  // Of one version: exactly this.
  if (upper === undefined) return first === "[" && last === "]" && isNugetVersion(lower);
  // Such a range is written with a space, as clients themselves do.
  if (lower === "" && upper === "") return inside.includes(" ");
  const isLower = lower === "" || isAtLeast(lower);
  if (!isLower || (upper !== "" && !isNugetVersion(upper))) return false;
  if (lower === "" || upper === "" || lower.includes("*")) return true;
  const order = compare(lower, upper);
  return order < 0 || (order === 0 && (first === "[") === (last === "]"));
}

/** NuGetFramework.Parse takes every name, but fails on a malformed `Version=`. */
export const isNugetFramework = (framework: string): boolean =>
  framework.length <= 200 &&
  /^[^,]+(?:, *Version=v?\d{1,9}(?:\.\d{1,9}){0,3})?(?:, *Profile=[^,]*)?$/i.test(framework);
