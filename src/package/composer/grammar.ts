import { isRecord } from "../../platform/is-record.ts";
import { badFile, badVersion } from "../core/coordinates.ts";
import { isTextList, mustBe } from "../core/member.ts";

/**
 * Versions and constraints as composer/semver reads them (VersionParser::normalize, parseConstraints, MIT). What
 * ArrayLoader cannot load makes Composer fail for all versions of a package.
 */

const lengthMax = 512;
const numbers = /^v?\d{1,20}(?:\.\d{1,20}){0,3}/i;
const date = /^v?\d{4}(?:[.:-]?\d{2}){1,6}(?:[.:-]?\d{1,3})?/i;
const suffix =
  /^[._-]?(?:(?:stable|beta|b|rc|alpha|a|patch|pl|p)(?:\d*(?:[.-]\d+)*))?(?:[.-]?dev)?$/i;
const stability = /@(?:stable|rc|beta|alpha|dev)$/i;
const branch = /^v?\d{1,20}(?:\.(?:\d{1,20}|[xX*])){0,3}$/i;

/** PHP takes no other space for one. */
const otherSpace = /[^\S\t-\r ]/;

function withoutBuild(version: string): string {
  const plus = version.indexOf("+");
  return plus > 0 && plus < version.length - 1 ? version.slice(0, plus) : version;
}

const hasShortMajor = (version: string): boolean => !/^v?\d{6}/i.test(version);

/** With numbers first, and what may follow them. */
function isNumbered(text: string): boolean {
  const version = withoutBuild(text);
  const [found] = numbers.exec(version) ?? [];
  if (found === undefined) return false;
  // A long number is a date, or the version of a branch.
  if (!hasShortMajor(found)) return isComposerVersion(text);
  const rest = version.slice(found.length);
  return suffix.test(rest) || /^\.[xX*][.-]?dev$/i.test(rest);
}

export function isComposerVersion(version: string): boolean {
  if (version.length > lengthMax || otherSpace.test(version)) return false;
  const text = version.trim().replace(stability, "");
  if (/^(?:master|trunk|default)$/.test(text) || /^dev-/i.test(text)) return true;
  if (/[\s,]/.test(text)) return false;
  const plain = withoutBuild(text);
  const [found] = numbers.exec(plain) ?? [];
  if (found !== undefined && hasShortMajor(found) && suffix.test(plain.slice(found.length))) {
    return true;
  }
  const [dated] = date.exec(plain) ?? [];
  if (dated !== undefined && suffix.test(plain.slice(dated.length))) return true;
  return /dev$/i.test(plain) && branch.test(plain.slice(0, -3).replace(/[.-]$/, ""));
}

export function isComposerConstraint(constraint: string): boolean {
  if (constraint.length > lengthMax || otherSpace.test(constraint)) return false;
  return constraint
    .trim()
    .split(/\|\|?/)
    .every((part) => partsOf(part.trim()).every(isOne));
}

/**
 * Constraints that all have to hold. They are parted as `{(?<!^|as|[=>< ,]) *(?<!-)[, ](?!-) *(?!,|as|$)}` does in
 * parseConstraints, in time that is linear.
 */
function partsOf(text: string): readonly string[] {
  const parts: string[] = [];
  let start = 0;
  for (let at = 1; at < text.length; at += 1) {
    const end = separatorEnd(text, at);
    if (end === undefined) continue;
    parts.push(text.slice(start, at));
    start = end;
    at = end - 1;
  }
  return [...parts, text.slice(start)];
}

/** Where the separator ends that begins there; undefined when none does. */
function separatorEnd(text: string, at: number): number | undefined {
  if (/[=>< ,]/.test(text[at - 1] ?? "") || text.startsWith("as", at - 2)) return undefined;
  const blanks = blanksAt(text, at);
  // A comma behind all blanks, else the last blank, else the one before it.
  for (const by of [at + blanks, at + blanks - 1, at + blanks - 2]) {
    if (by < at || !/[, ]/.test(text[by] ?? "")) continue;
    if (text[by - 1] === "-" || text[by + 1] === "-") continue;
    const after = blanksAt(text, by + 1);
    const end = by + 1 + after;
    if (end < text.length && text[end] !== "," && !text.startsWith("as", end)) return end;
    if (after > 0) return end - 1;
  }
  return undefined;
}

function blanksAt(text: string, at: number): number {
  let end = at;
  while (text[end] === " ") end += 1;
  return end - at;
}

const withoutAlias = (text: string): string => /^([^,\s]+) +as +[^,\s]+$/.exec(text)?.[1] ?? text;

/** As parseConstraint reads one. */
function isOne(part: string): boolean {
  const unaliased = withoutAlias(part);
  const flagless = /^[^,\s]*$/.test(unaliased) ? unaliased.replace(stability, "") : unaliased;
  const word = flagless === "" && unaliased !== "" ? "*" : flagless;
  const hash = word.indexOf("#");
  const hasReference = hash > 0 && /^dev-|\.x-dev#/i.test(word.slice(0, hash + 1));
  const text = hasReference ? word.slice(0, hash) : word;
  if (/^v?[xX*](?:\.[xX*])*$/i.test(text)) return true;
  if (/^v?\d+(?:\.\d+){0,2}(?:\.[xX*])+$/.test(text)) return true;
  if (/^[~^]/.test(text)) return isNumbered(text.slice(1));
  const [, from, to] = /^(\S+) +- +(\S+)$/.exec(text) ?? [];
  if (from !== undefined && to !== undefined) return isNumbered(from) && isNumbered(to);
  const [operator = ""] = /^(?:<>|!=|>=?|<=?|==?)?/.exec(text) ?? [];
  const version = text.slice(operator.length).trim();
  return isComposerVersion(withoutAlias(version)) || /^[0-9a-zA-Z./-]+-dev$/.test(version);
}

const links = ["require", "require-dev", "conflict", "provide", "replace"] as const;

/** @throws Refusal 422 in the words of Composer */
export function checkComposer(version: string, metadata: Readonly<Record<string, unknown>>): void {
  if (!isComposerVersion(version)) throw badVersion(`Invalid version string "${version}"`);
  for (const link of links) {
    const all = metadata[link] ?? {};
    mustBe(isRecord(all) || isEmpty(all), `composer.json: ${link}`, "an object");
    for (const [target, constraint] of Object.entries(all)) {
      // A key of an array that is a number is no text in PHP.
      mustBe(!/^(?:0|-?[1-9]\d*)$/.test(target), `${link}.${target}`, "the name of a package");
      const isRight =
        typeof constraint === "string" &&
        (constraint === "self.version" || isComposerConstraint(constraint));
      if (isRight) continue;
      throw badFile(`${link}.${target}: Could not parse version constraint ${String(constraint)}`);
    }
  }
  checkMembers(metadata);
}

/** An array of PHP without members is written as a list. */
const isEmpty = (value: unknown): boolean => Array.isArray(value) && value.length === 0;
const isText = (value: unknown): boolean => typeof value === "string";
const isArray = (value: unknown): boolean => typeof value === "object" && value !== null;
function isArchive(value: unknown): boolean {
  if (!isRecord(value)) return true;
  const { name, exclude } = value;
  return (!name || isText(name)) && (!exclude || isArray(exclude));
}
const valuesOf = (value: unknown): readonly unknown[] =>
  isArray(value) ? Object.values(value as object) : [];

/** What has another type is ignored by Composer where nothing is said of it here. */
const members: Readonly<Record<string, readonly [is: (value: unknown) => boolean, what: string]>> =
  {
    type: [isText, "a text"],
    "target-dir": [isText, "a text"],
    bin: [(value) => isText(value) || isTextList(value), "a text or a list of texts"],
    keywords: [(value) => !valuesOf(value).some(isArray), "a list of texts"],
    suggest: [(value) => valuesOf(value).every(isText), "an object of texts"],
    autoload: [isArray, "an object"],
    "autoload-dev": [isArray, "an object"],
    "include-path": [isArray, "a list"],
    support: [isArray, "an object"],
    "installation-source": [isText, "a text"],
    archive: [isArchive, "an object of a text as name and a list as exclude"],
    "php-ext": [isArray, "an object"],
  };

/** Of other types, PHP ends with an error of types where Composer loads the package. */
function checkMembers(metadata: Readonly<Record<string, unknown>>): void {
  for (const [name, [is, what]] of Object.entries(members)) {
    const value = metadata[name] ?? undefined;
    if (value !== undefined) mustBe(is(value), `composer.json: ${name}`, what);
  }
  const { extra } = metadata;
  const aliases = isRecord(extra) ? extra["branch-alias"] : undefined;
  if (aliases !== undefined) {
    mustBe(
      isArray(aliases) && valuesOf(aliases).every(isText),
      "composer.json: extra.branch-alias",
      "an object of texts",
    );
  }
}
