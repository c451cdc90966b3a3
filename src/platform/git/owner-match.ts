import type { OwnerEntry, OwnerSection } from "./code-owners.ts";
import { compileGlob, type Glob } from "./path-glob.ts";

/** A place among the directories that patterns name, shared by all patterns that begin alike. */
type Place = {
  readonly literals: Map<string, Place>;
  readonly globs: Map<string, readonly [Glob, Place]>;
  /** After `**`: any directories may come before what follows. */
  any: Place | undefined;
  readonly isAny: boolean;
  /** Indexes of the entries whose patterns end here. */
  readonly ends: number[];
};

const newPlace = (isAny = false): Place => ({
  literals: new Map(),
  globs: new Map(),
  any: undefined,
  isAny,
  ends: [],
});

/** What matching may cost; see `matchOwners`. */
export type Budget = { steps: number };

export class TooManySteps extends Error {
  override readonly name = "TooManySteps";
}

/** The patterns of one section, ready to be asked for many paths. */
export type SectionMatcher = Readonly<{ section: OwnerSection; root: Place }>;

export function compileSection(section: OwnerSection): SectionMatcher {
  const root = newPlace();
  for (const [index, { pattern }] of section.entries.entries()) {
    const parts = pattern.slice(1).split("/");
    let place = root;
    for (const [at, part] of parts.entries()) {
      place = at < parts.length - 1 && part === "**" ? anyOf(place) : childOf(place, part);
    }
    place.ends.push(index);
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
  if (typeof glob === "string") {
    const known = place.literals.get(glob) ?? newPlace();
    place.literals.set(glob, known);
    return known;
  }
  const [, known] = place.globs.get(part) ?? [glob, newPlace()];
  place.globs.set(part, [glob, known]);
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
      for (const [glob, child] of place.globs.values()) {
        spend(budget, 1 + part.length);
        if (glob(part)) next.push(child);
      }
    }
    places = withAny(next);
  }
  let last = -1;
  for (const { ends } of places) {
    for (const index of ends) {
      if (section.entries[index]?.excludes === true) return undefined;
      last = Math.max(last, index);
    }
  }
  return section.entries[last];
}

/** `**` may stand for no directory at all. */
function withAny(places: readonly Place[]): ReadonlySet<Place> {
  const all = new Set(places);
  for (const { any } of places) if (any !== undefined) all.add(any);
  return all;
}

function spend(budget: Budget, steps: number): void {
  budget.steps -= steps;
  if (budget.steps < 0) throw new TooManySteps("the patterns take too many steps");
}
