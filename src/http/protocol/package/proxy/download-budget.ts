import { statfsSync } from "node:fs";
import { tmpdir } from "node:os";

import { Limit } from "../../../../platform/limit.ts";
import { upstreamBusy } from "./upstream-busy.ts";

let budget: Limit | undefined;

/** For files that come: a part of what is free in the folder of temporary files when the first of them comes. */
export function downloadBudget(): Limit {
  if (budget !== undefined) return budget;
  const { bavail, bsize } = statfsSync(tmpdir());
  const free = bavail * bsize;
  budget = new Limit({
    name: "registry.fetched_bytes",
    total: Math.floor(free * 0.75),
    share: Math.floor(free * 0.5),
    whenFull: "refuse",
    refusal: upstreamBusy,
  });
  return budget;
}
