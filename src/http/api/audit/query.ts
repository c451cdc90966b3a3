import { z } from "zod";

import { Refusal } from "../../../platform/refusal.ts";
import type { AuditFilter } from "../../../projections/audit/entry-query.ts";
import { subjectKinds, typesOfKind, unknownTypes } from "../../../projections/audit/subject.ts";
import type { AuditPageRequest } from "../../../projections/audit/trail.ts";
import { findUserNamed } from "../../../projections/user/user.ts";
import type { Deps } from "../../core/deps.ts";
import { int, nameLengthMax, several, splitAtCommas, timeOrDay } from "../../core/schema.ts";

const positionMax = 2n ** 63n - 1n;

/** A place in the log; text, because positions may pass what JSON numbers hold exactly. */
export const Position = z
  .string()
  .max(19)
  .refine(
    (text) => /^\d{1,19}$/.test(text) && BigInt(text) <= positionMax,
    "A position is a whole number, at most 2^63 - 1.",
  )
  .meta({ examples: ["4711"] });

const typesMax = 50;

/** Event types, split at commas. A misspelt one would look as if nothing of the kind had happened. */
export const Types = z
  .preprocess(splitAtCommas, z.array(z.string().max(nameLengthMax)).max(typesMax).optional())
  .refine((types = []) => unknownTypes(types).length === 0, {
    error: ({ input }) => `There is no event type ${unknownTypes(input as string[]).join(", ")}.`,
  });

const sizeMax = 200;

export const AuditQuery = z.object({
  actor: z.string().max(nameLengthMax).optional().meta({ description: "Alias or id of a user." }),
  type: Types.optional().meta({ description: "Event types, by commas." }),
  kind: several(z.enum(subjectKinds)),
  subject: z
    .string()
    .max(4_096)
    .optional()
    .meta({ description: "Id of the thing it is about; the name of a branch or tag." }),
  correlationId: z
    .string()
    .max(nameLengthMax)
    .optional()
    .meta({ description: "Everything that followed from one request." }),
  since: timeOrDay().optional(),
  until: timeOrDay().optional().meta({ description: "A time or a day, itself not included." }),
  before: Position.optional().meta({ description: "Only entries below this position." }),
  after: Position.optional().meta({ description: "Only entries above this position." }),
  size: int({ min: 1 })
    .transform((size) => Math.min(size, sizeMax))
    .default(10)
    .meta({ description: `10 when not given; served as ${sizeMax} at most.` }),
  format: z
    .enum(["json", "jsonl", "csv"])
    .default("json")
    .meta({ description: "`jsonl` and `csv` stream everything that fits." }),
});
export type AuditQuery = z.output<typeof AuditQuery>;

/** @throws Refusal 404 for an actor that there is not */
export async function filterOf(
  { db }: Pick<Deps, "db">,
  query: AuditQuery,
  placeId: string | undefined,
): Promise<AuditFilter> {
  const { actor, kind, subject, correlationId, since, until } = query;
  const types = typesOf(query.type, kind);
  return {
    ...(placeId !== undefined && { placeId }),
    ...(actor !== undefined && { actorId: await userId(db, actor) }),
    ...(types !== undefined && { types }),
    ...(subject !== undefined && { subjectId: subject }),
    ...(correlationId !== undefined && { correlationId }),
    ...(since !== undefined && { since }),
    ...(until !== undefined && { until }),
  };
}

function typesOf(types: AuditQuery["type"], kinds: AuditQuery["kind"]): AuditFilter["types"] {
  if (kinds === undefined) return types;
  const ofKind = kinds.flatMap(typesOfKind);
  return types === undefined ? ofKind : ofKind.filter((type) => types.includes(type));
}

async function userId(db: Deps["db"], name: string): Promise<string> {
  const user = await findUserNamed(db, name);
  if (user !== undefined) return user.id;
  throw new Refusal("not_found", "user.not_found", "The actor is no user.");
}

export function pageOf({ before, after, size }: AuditQuery): AuditPageRequest {
  return {
    size,
    ...(before !== undefined && { before: BigInt(before) }),
    ...(after !== undefined && { after: BigInt(after) }),
  };
}
