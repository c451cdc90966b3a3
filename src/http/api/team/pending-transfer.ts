import { z } from "zod";

import { findTransfer } from "../../../projections/team/transfer-offer.ts";
import type { Role } from "../../access/access.ts";
import type { Deps } from "../../core/deps.ts";
import { instant } from "../../core/schema.ts";

export const PendingTransfer = z
  .object({
    id: z.uuid(),
    ownerAlias: z.string().meta({ description: "The user to whom it is offered." }),
    offeredBy: z.string().meta({ description: "Alias." }),
    createdAt: instant(),
    expiresAt: instant(),
  })
  .meta({ id: "PendingTransfer" });

type Pending = Readonly<{ pendingTransfer?: z.input<typeof PendingTransfer> }>;

/** The open offer of a thing, for those who administer it. */
export async function pendingTransfer(
  thingId: string,
  role: Role,
  { db, now }: Pick<Deps, "db" | "now">,
): Promise<Pending> {
  if (role !== "ADMIN") return {};
  const row = await findTransfer(db, { thingId }, now());
  if (row === undefined) return {};
  const { id, recipient_alias: ownerAlias, offered_by_alias: offeredBy } = row;
  const times = { createdAt: row.created_at, expiresAt: row.expires_at };
  return { pendingTransfer: { id, ownerAlias, offeredBy, ...times } };
}
