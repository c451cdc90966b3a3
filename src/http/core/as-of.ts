import { z } from "zod";

import type { Recorded } from "../../events/core/event.ts";
import { InstantOrDay } from "../../events/core/ids.ts";
import type { LocalIdKind } from "../../events/core/local-id.ts";
import type { Refusal } from "../../platform/refusal.ts";
import type { Until } from "../../projections/audit/happened.ts";
import type { Projection } from "../../projections/core/projection.ts";
import type { Deps } from "./deps.ts";
import { invalid } from "./schema.ts";

/** How a GET answers as it was at a time; see docs/adr/0125-as-of.md. */
export type AsOf = Readonly<{
  /** What the answer is made of; all else is read as it is today. */
  readModels: readonly Projection[];
  /** Whose numbers their lists show. */
  numbers?: readonly LocalIdKind[];
  /** The one numbered thing that the parameter `localId` names. */
  numbered?: Readonly<{
    kind: LocalIdKind;
    readModel: Projection;
    /** Ids of the parts of it that its own events name and that have streams of their own. */
    parts?: (event: Recorded) => readonly string[];
    /** What is said below it, each in a stream of its own. */
    below?: AsOfBelow;
  }>;
  /** What the team and company above hand down counts as well: those of today. */
  above?: true;
  /** Where the path names no project, team or company: the parameter that names an account, or the caller's. */
  account?: Readonly<{ param: string }> | "caller";
  /** Lists are read page by page: their length costs nothing. */
  anyLength?: true;
  /** What the request holds of the project, team or company, read again as it was. */
  again?: (db: Deps["db"], id: string) => Promise<object | undefined>;
}>;

/** Things that name another one in their events alone, so that they are found by it in their read model. */
export type AsOfBelow = Readonly<{
  readModel: Projection;
  /** Those that are there today; undefined when the thing they are below is not. */
  idsOf: (db: Deps["db"], id: string) => Promise<readonly string[] | undefined>;
  /** The event that took one away, and its field that names what it was below. */
  removed: Readonly<{ type: string; field: string }>;
}>;

const positionMax = 2n ** 63n - 1n;

const isPosition = (text: string): boolean =>
  /^\d{1,19}$/.test(text) && BigInt(text) <= positionMax;

/** PostgreSQL has no year 0, and nothing was recorded before 1970. */
const isTime = (text: string): boolean =>
  InstantOrDay.safeParse(text).success && new Date(text).getTime() >= 0;

export const AsOfQuery = z.object({
  asOf: z
    .string()
    .max(40)
    .refine(
      (text) => isPosition(text) || isTime(text),
      "Give a position of the log, or a time such as 2026-01-02T03:04:05Z.",
    )
    .optional()
    .meta({
      description:
        "Answers as it was then: after everything up to this time, or up to this position of the log.",
      examples: ["2026-01-02T03:04:05Z"],
    }),
});

export function untilOf(text: string): Until {
  return isPosition(text) ? { position: BigInt(text) } : { time: new Date(text) };
}

/** A refusal 422 of `asOf`. */
export const wrongAsOf = (code: string, message: string): Refusal =>
  invalid([{ field: "asOf", code, message }]);
