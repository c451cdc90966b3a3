import type { OwnerEntry, OwnerSection } from "./code-owners.ts";
import { GlobIndex } from "./glob-index.ts";
import { type Budget, compileGlob, spend } from "./path-glob.ts";

/** A place among the directories that patterns name, shared by all patterns that begin alike. */
type Place = {
  readonly literals: Map<string, Place>;
  readonly globs: GlobIndex<Place>;
  /** After `**`: any directories may come before what follows. */
  any: Place | undefined;
  readonly isAny: boolean;
  /** Index of the last entry whose pattern ends here. */
  last: number;
  /** One of those entries excludes what matches. */
  excludes: boolean;
};

const newPlace = (isAny = false): Place => ({
  literals: new Map(),
  globs: new GlobIndex(),
  any: undefined,
  isAny,
  last: -1,
  excludes: false,
});

/** The patterns of one section, compiled to match many paths. */
export type SectionMatcher = Readonly<{ section: OwnerSection; root: Place }>;

export function compileSection(section: OwnerSection): SectionMatcher {
  const root = newPlace();
  for (const [index, { pattern, excludes }] of section.entries.entries()) {
    const parts = pattern.slice(1).split("/");
    let place = root;
    for (const [at, part] of parts.entries()) {
      place = at < parts.length - 1 && part === "**" ? anyOf(place) : childOf(place, part);
    }
    place.last = index;
    place.excludes ||= excludes;
  }
  return { section, root };
}

function anyOf(place: Place): Place {
  if (place.isAny) return place;
  place.any ??= newPlace(true);
  return place.any;
}

function childOf(place: Place, part: string): Place {
  const glob = compileGlob(part);
  if (typeof glob !== "string") return place.globs.add(part, glob, newPlace);
  const known = place.literals.get(glob) ?? newPlace();
  place.literals.set(glob, known);
  return known;
}

/**
 * The entry that decides about a file in a section: the last one that matches. Undefined when none does, or
 * one excludes the file.
 *
 * @param path parts of the path, without slashes
 * @throws TooManySteps when the budget is used up
 */
export function decidingEntry(
  { section, root }: SectionMatcher,
  path: readonly string[],
  budget: Budget,
): OwnerEntry | undefined {
  let places: ReadonlySet<Place> = withAny([root]);
  for (const part of path) {
    const next: Place[] = [];
    for (const place of places) {
      spend(budget, 1);
      if (place.isAny) next.push(place);
      const literal = place.literals.get(part);
      if (literal !== undefined) next.push(literal);
      next.push(...place.globs.matching(part, budget));
    }
    places = withAny(next);
  }
  let last = -1;
  for (const place of places) {
    spend(budget, 1);
    if (place.excludes) return undefined;
    last = Math.max(last, place.last);
  }
  return section.entries[last];
}

/** `**` may match no directory at all. */
function withAny(places: readonly Place[]): ReadonlySet<Place> {
  const all = new Set(places);
  for (const { any } of places) if (any !== undefined) all.add(any);
  return all;
}
