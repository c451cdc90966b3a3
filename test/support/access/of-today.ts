import type { Json } from "../app/issue.ts";

/** What git and the disk hold, and no event, is of today: it changes whenever a worker looks. */
const ofToday = [
  ...["mergeRequirements", "canMerge", "hasConflicts", "hasCommonHistory"],
  ...["targetBranch", "usedBytes"],
  ...["createTimeDifference", "formatedDate"],
];

export function withoutThatOfToday(body: Json): Json {
  const text = JSON.stringify(body, (key, value: unknown) =>
    ofToday.includes(key) ? undefined : value,
  );
  return JSON.parse(text) as Json;
}
