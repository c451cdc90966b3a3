import semver from "semver";

import { isRecord } from "../../platform/is-record.ts";
import { badFile } from "../core/coordinates.ts";
import { isTextList, mustBe } from "../core/member.ts";

/**
 * Names and requirements as npm-package-arg and validate-npm-package-name (ISC) read them. Names of dependencies may be
 * old ones, with capitals.
 */
const nameForm = /^(?:@[a-z0-9~-][a-z0-9._~-]*\/)?[a-z0-9~-][a-z0-9._~-]*$/i;
const nameLengthMax = 214;
const rangeLengthMax = 512;
const dependenciesMax = 5_000;
/** Of addresses, repositories and paths, which npm finds out only when it fetches them. */
const elsewhere = /^(?:[a-z][a-z0-9+.-]*:|~\/|[./]|[^/@\s]+\/|[^/@\s]+@[^/@:.\s]+\.[^/@:\s]+:)/i;
const tagForm = /^[A-Za-z0-9\-_.!~*'()]+$/;

const isName = (name: string): boolean => nameForm.test(name) && name.length <= nameLengthMax;

export function isNpmRequirement(text: string): boolean {
  if (text.startsWith("npm:")) {
    const [, name = "", , version = ""] = /^npm:(@?[^@]+)(@(.*))?$/.exec(text) ?? [];
    return isName(name) && !elsewhere.test(version) && isNpmRequirement(version);
  }
  if (elsewhere.test(text)) return true;
  if (text.length > rangeLengthMax) return false;
  return tagForm.test(text) || semver.validRange(text, true) !== null;
}

const lists = ["os", "cpu", "libc"] as const;
/** Those that a dependency is developed with are never read. */
const dependencies = ["dependencies", "optionalDependencies", "peerDependencies"] as const;

/** @throws Refusal 422 in the words of npm */
export function checkNpm(manifest: Readonly<Record<string, unknown>>): void {
  for (const field of dependencies) checkDependencies(field, manifest[field] ?? {});
  for (const field of lists) {
    const value = manifest[field] ?? [];
    mustBe(typeof value === "string" || isTextList(value), `package.json: ${field}`, "a list");
  }
}

function checkDependencies(field: string, all: unknown): void {
  // npm takes an empty list for none, as old manifests write it.
  if (Array.isArray(all) && all.length === 0) return;
  mustBe(isRecord(all), `package.json: ${field}`, "an object");
  const entries = Object.entries(all as object);
  mustBe(entries.length <= dependenciesMax, `package.json: ${field}`, "shorter");
  for (const [name, requirement] of entries) {
    if (!isName(name)) throw badFile(`${field}: Invalid package name "${name}".`);
    if (typeof requirement === "string" && isNpmRequirement(requirement.trim())) continue;
    throw badFile(`${field}: Invalid tag name "${requirement}" of package "${name}".`);
  }
}
