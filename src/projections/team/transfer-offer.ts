import type { Knex } from "knex";

import { idInStream } from "../../events/core/stream.ts";
import { type TransferableType, transferOfferEvents } from "../../events/team/transfer-offer.ts";
import { defineProjection } from "../core/projection.ts";
import type { Slice } from "../user/user.ts";

/** Open ones; those that ended leave nothing. */
export type TransferOfferRow = Readonly<{
  id: string;
  thing_id: string;
  thing_type: TransferableType;
  owner_id: string;
  recipient_id: string;
  offered_by_id: string;
  created_at: Date;
  expires_at: Date;
}>;

export const transferOfferProjection = defineProjection({
  name: "transfer_offer",
  version: 1,
  tables: ["transfer_offer"],
  async create(tx) {
    await tx.schema.createTable("transfer_offer", (table) => {
      table.uuid("id").primary();
      table.uuid("thing_id").notNullable().index();
      table.text("thing_type").notNullable();
      table.uuid("owner_id").notNullable();
      table.uuid("recipient_id").notNullable();
      table.uuid("offered_by_id").notNullable();
      table.timestamp("created_at").notNullable();
      table.timestamp("expires_at").notNullable().index();
      table.index(["recipient_id", "created_at", "id"]);
    });
  },
  events: transferOfferEvents,
  handlers: {
    TransferOffered: async (tx, { stream, data }) => {
      const row = {
        id: data.offerId,
        thing_id: idInStream(stream),
        thing_type: data.thingType,
        owner_id: data.ownerId,
        recipient_id: data.recipientId,
        offered_by_id: data.offeredById,
        created_at: new Date(data.offeredAt),
        expires_at: new Date(data.expiresAt),
      };
      await tx<TransferOfferRow>("transfer_offer").insert(row).onConflict("id").merge();
    },
    TransferAccepted: async (tx, { data }) => {
      await tx<TransferOfferRow>("transfer_offer").where({ id: data.offerId }).delete();
    },
    TransferDeclined: async (tx, { data }) => {
      await tx<TransferOfferRow>("transfer_offer").where({ id: data.offerId }).delete();
    },
    TransferWithdrawn: async (tx, { data }) => {
      await tx<TransferOfferRow>("transfer_offer").where({ id: data.offerId }).delete();
    },
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

const shown = [
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
  const [rows, counted] = await Promise.all([
    theirs()
      .select<PendingTransferRow[]>(...shown, db.raw(shownRaw))
      .orderBy([{ column: "offer.created_at" }, { column: "offer.id" }])
      .limit(limit)
      .offset(offset),
    theirs().count({ total: "*" }).first(),
  ]);
  return { rows, total: Number(counted?.["total"] ?? 0) };
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
    .first<PendingTransferRow | undefined>(...shown, db.raw(shownRaw));
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
