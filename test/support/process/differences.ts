export type Kept = Readonly<{ token: string; answers: Readonly<Record<string, unknown>> }>;

/** `wrong`: places at which a kept value is missing or another one; `added`: those that only the other has. */
export type Differences = Readonly<{ wrong: readonly string[]; added: readonly string[] }>;

/** Ids of requests, ages in words, and what asking itself changes. */
const volatile = new Set(["requestId", "formatedDate", "createTimeDifference", "lastUsedAt"]);

export function differences(kept: unknown, seen: unknown, place = ""): Differences {
  if (!isObject(kept) || !isObject(seen)) {
    return { wrong: kept === seen ? [] : [`${place}: ${kept} is ${seen}`], added: [] };
  }
  if (Array.isArray(kept) && Array.isArray(seen) && kept.length !== seen.length) {
    return { wrong: [`${place}: ${kept.length} are ${seen.length}`], added: [] };
  }
  const within = Object.keys(kept).map((key) =>
    differences(kept[key], seen[key], `${place}/${key}`),
  );
  const added = Object.keys(seen).filter((key) => !(key in kept) && !volatile.has(key));
  return {
    wrong: within.flatMap(({ wrong }) => wrong),
    added: [...added, ...within.flatMap((each) => each.added)],
  };
}

const isObject = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === "object" && value !== null;
