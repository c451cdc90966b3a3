import type { OwnerEntry, OwnerSection } from "./code-owners.ts";
import { type Budget, compileGlob, type Glob, spend } from "./path-glob.ts";

/** `**` before a slash: any directories, or none. */
const any = Symbol("any directories");

type Part = string | Glob | typeof any;

type Pattern = Readonly<{
  /** Of its entry. */
  index: number;
  excludes: boolean;
  parts: readonly Part[];
}>;

/** The patterns of one section, the last first. */
export type SectionMatcher = Readonly<{
  section: OwnerSection;
  /** By the literal directories and name that the pattern begins with. */
  byPrefix: ReadonlyMap<string, readonly Pattern[]>;
  /** Of those that begin with a wildcard, by the literal name that they end with. */
  byName: ReadonlyMap<string, readonly Pattern[]>;
}>;

export function compileSection(section: OwnerSection): SectionMatcher {
  const byPrefix = new Map<string, Pattern[]>();
  const byName = new Map<string, Pattern[]>();
  for (const [index, { pattern, excludes }] of [...section.entries.entries()].reverse()) {
    const texts = pattern.slice(1).split("/");
    const parts = texts.map((text, at) =>
      at < texts.length - 1 && text === "**" ? any : compileGlob(text),
    );
    const literals = parts.findIndex((part) => typeof part !== "string");
    const prefix = parts.slice(0, literals < 0 ? parts.length : literals);
    const name = parts.at(-1);
    const [map, key] =
      prefix.length === 0 && typeof name === "string"
        ? ([byName, name] as const)
        : ([byPrefix, prefix.join("/")] as const);
    const sharing = map.get(key) ?? [];
    map.set(key, sharing);
    sharing.push({ index, excludes, parts });
  }
  return { section, byPrefix, byName };
}

/**
 * The entry that decides about a file in a section: the last one that matches. Undefined when none does, or
 * one excludes the file.
 *
 * @param path parts of the path, without slashes
 * @throws TooManySteps when the budget is used up
 */
export function decidingEntry(
  matcher: SectionMatcher,
  path: readonly string[],
  budget: Budget,
): OwnerEntry | undefined {
  const names = path.map((text) => ({ text, characters: [...text] }));
  let last = -1;
  for (const patterns of candidates(matcher, path)) {
    for (const { index, excludes, parts } of patterns) {
      spend(budget, 1);
      if (index < last && !excludes) continue;
      if (!matches(parts, names, budget)) continue;
      if (excludes) return undefined;
      last = index;
    }
  }
  return matcher.section.entries[last];
}

function* candidates({ byPrefix, byName }: SectionMatcher, path: readonly string[]) {
  yield byPrefix.get("") ?? [];
  yield byName.get(path.at(-1) ?? "") ?? [];
  let prefix = "";
  for (const [at, part] of path.entries()) {
    prefix = at === 0 ? part : `${prefix}/${part}`;
    yield byPrefix.get(prefix) ?? [];
  }
}

type Name = Readonly<{ text: string; characters: readonly string[] }>;

function matches(parts: readonly Part[], path: readonly Name[], budget: Budget): boolean {
  let part = 0;
  let at = 0;
  let run: readonly [part: number, at: number] | undefined;
  for (let name = path[0]; name !== undefined; name = path[at]) {
    spend(budget, 1);
    const current = parts[part];
    if (current === any) {
      run = [part + 1, at];
      part += 1;
    } else if (current !== undefined && matchesName(current, name, budget)) {
      part += 1;
      at += 1;
    } else if (run !== undefined) {
      // The last `**` takes one directory more.
      run = [run[0], run[1] + 1];
      [part, at] = run;
    } else return false;
  }
  return part === parts.length;
}

const matchesName = (part: string | Glob, name: Name, budget: Budget): boolean =>
  typeof part === "string" ? part === name.text : part(name.characters, budget);
