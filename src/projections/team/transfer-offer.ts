import type { Knex } from "knex";
import { idInStream } from "../../events/core/stream.ts";
import { type TransferableType, transferOfferEvents } from "../../events/team/transfer-offer.ts";
import { put, remove } from "../core/change.ts";
import { defineReadModel } from "../core/read-model.ts";
import { column, defineTable, type RowOf } from "../core/table.ts";
import { partOf, type Slice } from "../list/list-rows.ts";

/** Open ones; those that ended leave nothing. */
const offers = defineTable({
  name: "transfer_offer",
  columns: {
    id: "uuid",
    thing_id: "uuid",
    thing_type: column<TransferableType>("text"),
    owner_id: "uuid",
    recipient_id: "uuid",
    offered_by_id: "uuid",
    created_at: "timestamptz",
    expires_at: "timestamptz",
  },
  key: ["id"],
  lateIndexes: ["(thing_id)", "(expires_at)", "(recipient_id, created_at, id)"],
});

type TransferOfferRow = RowOf<typeof offers>;

const ended = ({ data }: Readonly<{ data: Readonly<{ offerId: string }> }>) =>
  remove(offers, { id: data.offerId });

export const transferOfferProjection = defineReadModel({
  name: "transfer_offer",
  version: 2,
  tables: [offers],
  events: transferOfferEvents,
  effects: {
    TransferOffered: ({ stream, data }) =>
      put(offers, {
        id: data.offerId,
        thing_id: idInStream(stream),
        thing_type: data.thingType,
        owner_id: data.ownerId,
        recipient_id: data.recipientId,
        offered_by_id: data.offeredById,
        created_at: new Date(data.offeredAt),
        expires_at: new Date(data.expiresAt),
      }),
    TransferAccepted: ended,
    TransferDeclined: ended,
    TransferWithdrawn: ended,
  },
});

export type PendingTransferRow = TransferOfferRow &
  Readonly<{
    /** Of the project or team. */
    alias: string;
    title: string;
    owner_alias: string;
    recipient_alias: string;
    offered_by_alias: string;
  }>;

/** Offers that can be accepted: in time, and of what still belongs to whom it belonged to. */
function pending(db: Knex, now: Date) {
  return db("transfer_offer as offer")
    .leftJoin("project", (join) =>
      join.on("project.id", "offer.thing_id").andOn("project.owner_id", "offer.owner_id"),
    )
    .leftJoin("team", (join) =>
      join.on("team.id", "offer.thing_id").andOn("team.owner_id", "offer.owner_id"),
    )
    .join("app_user as recipient", "recipient.id", "offer.recipient_id")
    .join("app_user as offerer", "offerer.id", "offer.offered_by_id")
    .leftJoin("app_user as owning_user", "owning_user.id", "offer.owner_id")
    .leftJoin("team as owning_team", "owning_team.id", "offer.owner_id")
    .leftJoin("company as owning_company", "owning_company.id", "offer.owner_id")
    .whereRaw("coalesce(project.id, team.id) is not null")
    .whereRaw("project.deleted_at is null and team.deleted_at is null")
    .where("offer.expires_at", ">", now);
}

const columns = [
  "offer.*",
  "recipient.alias as recipient_alias",
  "offerer.alias as offered_by_alias",
];
const shownRaw = `coalesce(project.alias, team.alias) as alias,
  coalesce(project.title, team.title) as title,
  coalesce(owning_user.alias, owning_team.alias, owning_company.alias) as owner_alias`;

export async function listTransfersTo(
  db: Knex,
  {
    recipientId,
    now,
    limit,
    offset,
  }: Readonly<{
    recipientId: string;
    now: Date;
    limit: number;
    offset: number;
  }>,
): Promise<Slice<PendingTransferRow>> {
  const theirs = () => pending(db, now).where("offer.recipient_id", recipientId);
  const inOrder = (rows: Knex.QueryBuilder) =>
    rows.select(...columns, db.raw(shownRaw)).orderBy(["offer.created_at", "offer.id"]);
  return partOf(theirs, inOrder, { limit, offset });
}

/** The one that is pending of a project or team, or has this id. */
export async function findTransfer(
  db: Knex,
  by: Readonly<{ thingId: string } | { id: string }>,
  now: Date,
): Promise<PendingTransferRow | undefined> {
  // Each read of a project by its administrators comes here, and nearly none has an offer: the join is saved.
  if ("thingId" in by && !(await isOffered(db, by.thingId))) return undefined;
  const where = "id" in by ? { "offer.id": by.id } : { "offer.thing_id": by.thingId };
  return pending(db, now)
    .where(where)
    .first<PendingTransferRow | undefined>(...columns, db.raw(shownRaw));
}

async function isOffered(db: Knex, thingId: string): Promise<boolean> {
  const row = await db("transfer_offer").where({ thing_id: thingId }).first("id");
  return row !== undefined;
}

export function transfersExpired(
  db: Knex,
  before: Date,
  limit: number,
): Promise<readonly TransferOfferRow[]> {
  return db<TransferOfferRow>("transfer_offer")
    .where("expires_at", "<=", before)
    .orderBy("expires_at")
    .limit(limit);
}
