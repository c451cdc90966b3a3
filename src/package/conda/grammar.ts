import { badFile, badVersion } from "../core/coordinates.ts";
import { isTextList, mustBe } from "../core/member.ts";

/**
 * Versions and specifications as conda reads them (VersionOrder, MatchSpec and VersionSpec of conda/models, BSD-3).
 * One that is none ends the solving for all who ask for the package.
 */

const lengthMax = 512;
const dependenciesMax = 5_000;

export function isCondaVersion(version: string): boolean {
  const text = version.trim().toLowerCase();
  if (text.length > lengthMax || !/^[*.+!_0-9a-z-]+$/.test(text)) return false;
  // Dashes part only where there are no underscores.
  if (text.includes("-") && text.includes("_")) return false;
  const [main = "", local, ...more] = text.replaceAll("-", "_").split("+");
  const [epoch = "", rest, ...others] = main.split("!");
  if (more.length > 0 || others.length > 0 || (rest !== undefined && !/^\d+$/.test(epoch)))
    return false;
  return areParts(rest ?? epoch) && (local === undefined || areParts(local));
}

/** Each begins or ends in no empty part; one underscore may stand at the end, as openssl has it. */
const areParts = (text: string): boolean =>
  text
    .replace(/_$/, "")
    .replaceAll("_", ".")
    .split(".")
    .every((part) => /^[0-9a-z*]+$/.test(part));

/** Comparisons joined by `,` and `|`, in any parentheses. */
export function isCondaVersionSpec(spec: string): boolean {
  if (spec.length > lengthMax || areUnbalanced(spec)) return false;
  return spec
    .replaceAll(/[()]/g, "")
    .split(/[,|]/)
    .every((part) => isOneSpec(part.trim()));
}

function areUnbalanced(text: string): boolean {
  let depth = 0;
  for (const letter of text) {
    if (letter === "(") depth += 1;
    if (letter === ")") depth -= 1;
    if (depth < 0) return true;
  }
  return depth !== 0;
}

function isOneSpec(text: string): boolean {
  if (/^\^.*\$$/.test(text)) return false;
  const [operator = ""] = /^(?:[=!<>~]=|[=<>])/.exec(text) ?? [];
  const version = text.slice(operator.length).trimStart();
  if (/^(?:\*|\d[^*]*\.?\*)$/.test(version)) {
    return version === "*"
      ? operator === "" || operator === "==" || operator === "="
      : isCondaVersion(version.replace(/\.?\*$/, ""));
  }
  return isCondaVersion(version);
}

const nameForm = /^(?:[A-Za-z0-9_.*/-]+::)?_*[a-z0-9][a-z0-9_.-]*$/i;

/** `name`, `name version`, `name version build`, also `name>=1` and `name[version='>=1']`. */
export function isCondaSpec(spec: string): boolean {
  if (spec.length > lengthMax) return false;
  const bracket = spec.indexOf("[");
  if (bracket >= 0 && !/^\[[^[\]]*\]$/.test(spec.slice(bracket).trim())) return false;
  const text = (bracket < 0 ? spec : spec.slice(0, bracket)).trim();
  const end = /[\s<>=!~]/.exec(text)?.index ?? text.length;
  if (!nameForm.test(text.slice(0, end))) return false;
  const words = text
    .slice(end)
    .trim()
    .split(/\s+/)
    .join(" ")
    .replaceAll(/([<>=!~,|]) /g, "$1")
    .replaceAll(/ ([,|])/g, "$1")
    .split(" ");
  const [version = "", build, ...more] = words;
  if (more.length > 0 || (build !== undefined && !/^[A-Za-z0-9_.*+|^$-]+$/.test(build)))
    return false;
  // `name=1.0=build` names a build as well.
  const [plain = "", own, ...others] = version.replace(/^=(?!=)/, "").split(/(?<![<>=!~])=(?!=)/);
  if (others.length > 0 || (own !== undefined && (own === "" || build !== undefined))) return false;
  return version === "" || isCondaVersionSpec(plain);
}

/** @throws Refusal 422 in the words of conda */
export function checkConda(version: string, metadata: Readonly<Record<string, unknown>>): void {
  if (!isCondaVersion(version)) throw badVersion(`Invalid version '${version}'`);
  for (const field of ["depends", "constrains"]) {
    const all = metadata[field] ?? [];
    mustBe(
      isTextList(all) && all.length <= dependenciesMax,
      `index.json: ${field}`,
      "a list of texts",
    );
    const wrong = (all as readonly string[]).find((spec) => !isCondaSpec(spec));
    if (wrong !== undefined) throw badFile(`${field}: Invalid spec '${wrong.slice(0, 200)}'`);
  }
  const { build_number: number = 0, timestamp = 0 } = metadata;
  mustBe(
    Number.isSafeInteger(number) && Number(number) >= 0,
    "index.json: build_number",
    "a number",
  );
  mustBe(typeof timestamp === "number", "index.json: timestamp", "a number");
}
