import { statfsSync } from "node:fs";
import { tmpdir } from "node:os";

import { ByteBudget } from "./byte-budget.ts";

let budget: ByteBudget | undefined;

/** For files that come: a part of what is free in the folder of temporary files when the first of them comes. */
export function flightBudget(): ByteBudget {
  if (budget !== undefined) return budget;
  const { bavail, bsize } = statfsSync(tmpdir());
  const free = bavail * bsize;
  budget = new ByteBudget(Math.floor(free * 0.75), Math.floor(free * 0.5));
  return budget;
}
