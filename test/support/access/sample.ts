import type { Route } from "../../../src/http/core/route.ts";

/** What a run tries: one of each kind, or everything. */
export type Extent = "sample" | "whole";

/** Everything that decides who may call a route: routes of one signature pass the same guards. */
export function signatureOf(route: Route): string {
  const { access, scope, anonymousWhen } = route;
  const parts = [
    access,
    scope,
    route.selfParam && "or who is named",
    route.orAdministrator && "or an administrator",
    anonymousWhen,
    route.notForApplications && "not for applications",
    route.forJobs && "for jobs",
    route.isOpen && "open where its subject is",
  ];
  return parts.filter(Boolean).join(", ");
}

/** The first of each kind, in their order. */
export function firstOfEach<Item>(
  items: readonly Item[],
  kindOf: (item: Item) => unknown,
): readonly Item[] {
  const first = new Map<unknown, Item>();
  for (const item of items) if (!first.has(kindOf(item))) first.set(kindOf(item), item);
  return [...first.values()];
}

/** The first of each kind in a sample, otherwise all. */
export const chosen = <Item>(
  extent: Extent,
  items: readonly Item[],
  kindOf: (item: Item) => string,
): readonly Item[] => (extent === "whole" ? items : firstOfEach(items, kindOf));

/**
 * Whether a case is to be tried, given the value of each of its factors. In a sample that is so when two of the values
 * have not met yet, so that after all cases every pair of values that occurs together was tried.
 */
export function pairwise(extent: Extent): (...values: readonly string[]) => boolean {
  const met = new Set<string>();
  return (...values) => {
    const before = met.size;
    for (const [left, one] of values.entries()) {
      for (const [right, other] of values.entries()) {
        if (left < right) met.add(JSON.stringify([left, one, right, other]));
      }
    }
    return extent === "whole" || met.size > before;
  };
}

/** Some of the values at a time, the next ones each time: given often enough, all of them. */
export function inTurn(count: number): <Value>(values: readonly Value[]) => readonly Value[] {
  let turn = 0;
  return (values) => {
    turn += count;
    const length = Math.min(count, values.length);
    const at = (index: number) => (turn + index) % values.length;
    return Array.from({ length }, (_, index) => at(index)).flatMap((index) =>
      values.slice(index, index + 1),
    );
  };
}
