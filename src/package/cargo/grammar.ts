import { isRecord } from "../../platform/is-record.ts";
import { badFile } from "../core/coordinates.ts";

/**
 * Lines of an index as cargo parses them: requirements of the crate semver (VersionReq), names of features
 * (restricted_names.rs) and platforms (cargo-platform). MIT or Apache-2.0.
 */

const lengthMax = 512;
const label = "(?:0|[1-9]\\d*|\\d*[A-Za-z-][0-9A-Za-z-]*)";
const number = "(?:0|[1-9]\\d{0,18})";
const partial = new RegExp(
  `^${number}(?:\\.(?:${number}|[*xX])(?:\\.(?:${number}|[*xX]))?)?(?:-(?<pre>[0-9A-Za-z.-]+))?(?:\\+(?<build>[0-9A-Za-z.-]+))?$`,
);
const isLabels = (text: string, form: RegExp): boolean =>
  text.split(".").every((one) => form.test(one));
const preForm = new RegExp(`^${label}$`);
const buildForm = /^[0-9A-Za-z-]+$/;

function isComparator(text: string): boolean {
  const [, version = ""] = /^(?:=|>=|>|<=|<|~|\^)?\s*(.*)$/s.exec(text) ?? [];
  const match = partial.exec(version);
  if (match === null) return false;
  const { pre, build } = match.groups ?? {};
  const plain = version.split(/[-+]/, 1)[0] ?? "";
  const isWild = /[*xX]/.test(plain);
  const isWhole = plain.split(".").length === 3 && !isWild;
  if ((pre !== undefined || build !== undefined) && !isWhole) return false;
  if (pre !== undefined && !isLabels(pre, preForm)) return false;
  if (build !== undefined && !isLabels(build, buildForm)) return false;
  // What follows a star is a star.
  return !/[*xX]\.\d/.test(plain);
}

export function isCargoRequirement(text: string): boolean {
  const plain = text.trim();
  if (plain.length > lengthMax) return false;
  if (/^[*xX]$/.test(plain)) return true;
  const all = plain.split(",").map((part) => part.trim());
  return all.length <= 32 && all.every(isComparator);
}

const crateForm = /^[A-Za-z_][A-Za-z0-9_-]{0,63}$/;
const featureForm = /^[\p{L}\p{Nl}0-9_][\p{L}\p{M}\p{N}_+.-]*$/u;

/** `feature`, `dep:name`, `name/feature`, `name?/feature`. */
function isFeatureValue(value: unknown): boolean {
  if (typeof value !== "string" || value.length > lengthMax) return false;
  if (value.startsWith("dep:")) return crateForm.test(value.slice(4));
  const [name = "", feature, ...more] = value.split("/");
  if (feature === undefined) return featureForm.test(name);
  return more.length === 0 && crateForm.test(name.replace(/\?$/, "")) && featureForm.test(feature);
}

const tokens = /\s*(?:([(),=])|("[^"]*")|(r#)?([A-Za-z_][A-Za-z0-9_]*))/y;

/** A name of a target, or `cfg(…)` with all, any, not, names and keys. */
export function isCargoTarget(target: string): boolean {
  if (target.length > 1_000) return false;
  if (!target.startsWith("cfg(")) return /^[A-Za-z0-9_.-]+$/.test(target);
  if (!target.endsWith(")")) return false;
  const words: string[] = [];
  const inside = target.slice(4, -1);
  const end = inside.trimEnd().length;
  for (tokens.lastIndex = 0; tokens.lastIndex < end; ) {
    const [found, sign, text, , word] = tokens.exec(inside) ?? [];
    if (found === undefined) return false;
    words.push(sign ?? (text === undefined ? (word ?? "") : '""'));
  }
  return isExpression(words);
}

/** One pass over the words; each open list is remembered. */
function isExpression(words: readonly string[]): boolean {
  const open: { isNot: boolean; count: number }[] = [];
  let at = 0;
  for (;;) {
    const word = words[at] ?? "";
    const inList = open.at(-1);
    const isPredicate = /^(?:all|any|not)$/.test(word);
    if (isPredicate && words[at + 1] === "(") {
      open.push({ isNot: word === "not", count: 0 });
      at += 2;
      if (words[at] !== ")") continue;
    } else if (!isPredicate && /^\w+$/.test(word)) {
      if (inList !== undefined) inList.count += 1;
      at += 1;
      if (words[at] === "=") {
        if (words[at + 1] !== '""') return false;
        at += 2;
      }
    } else if (!(word === ")" && (inList?.count ?? 0) > 0)) return false;
    for (let closing = open.at(-1); words[at] === ")"; closing = open.at(-1)) {
      if (closing === undefined || (closing.isNot && closing.count !== 1)) return false;
      open.pop();
      const outer = open.at(-1);
      if (outer !== undefined) outer.count += 1;
      at += 1;
    }
    if (at >= words.length) return open.length === 0;
    if (words[at] !== "," || open.length === 0) return false;
    at += 1;
  }
}

/** @throws Refusal 422 in the words of cargo */
export function checkCargo(metadata: Readonly<Record<string, unknown>>): void {
  const { deps = [], features, features2, links, rust_version: rust } = metadata;
  for (const each of Array.isArray(deps) ? deps : []) checkDependency(each);
  for (const [name, values] of [features ?? {}, features2 ?? {}].flatMap((all) =>
    Object.entries(all),
  )) {
    if (!featureForm.test(name)) throw badFile(`invalid feature name '${name}'`);
    const wrong = Array.isArray(values) ? values.find((each) => !isFeatureValue(each)) : values;
    if (wrong !== undefined) throw badFile(`feature '${name}' includes '${wrong}', which is none`);
  }
  if (links !== undefined && links !== null && typeof links !== "string") {
    throw badFile("links has to be a text");
  }
  if (rust !== undefined && !/^\d{1,9}(?:\.\d{1,9}){0,2}$/.test(String(rust))) {
    throw badFile(`rust-version '${rust}' is not a version of Rust`);
  }
}

function checkDependency(each: unknown): void {
  const { name, req, features, target, registry, package: of } = isRecord(each) ? each : {};
  if (!crateForm.test(String(name)))
    throw badFile(`invalid package name '${name}' in dependencies`);
  if (of !== null && of !== undefined && !crateForm.test(String(of))) {
    throw badFile(`invalid package name '${of}' in dependencies`);
  }
  if (typeof req !== "string" || !isCargoRequirement(req)) {
    throw badFile(`failed to parse the version requirement '${req}' for dependency '${name}'`);
  }
  const wrong = Array.isArray(features) ? features.find((one) => !isFeatureValue(one)) : features;
  if (wrong !== undefined) throw badFile(`invalid feature '${wrong}' of dependency '${name}'`);
  if (target !== null && target !== undefined && !isCargoTarget(String(target))) {
    throw badFile(`failed to parse the target '${target}' of dependency '${name}'`);
  }
  const isUrl = typeof registry === "string" && URL.canParse(registry.replace(/^sparse\+/, ""));
  if (registry !== null && registry !== undefined && !isUrl) {
    throw badFile(`invalid url '${registry}' of dependency '${name}'`);
  }
}
