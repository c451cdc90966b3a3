import type { Knex } from "knex";
import { idInStream } from "../../events/core/stream.ts";
import { type MailKind, mailEvents } from "../../events/user/mail.ts";
import { change, put, remove } from "../core/change.ts";
import { defineReadModel } from "../core/read-model.ts";
import { column, defineTable, type RowOf } from "../core/table.ts";
import { newestFirst, type Part, type Slice } from "../list/list-rows.ts";

export type MailStatus = "WAITING" | "SENT" | "FAILED";

const mails = defineTable({
  name: "mail",
  columns: {
    id: "uuid",
    kind: column<MailKind>("text"),
    holder_id: "uuid",
    request_id: "uuid",
    /** Sealed: opened for requests of an administrator, so it is unreadable once the person is forgotten. */
    recipient: "text",
    status: column<MailStatus>("text"),
    /** Why it was not sent. */
    failure: "text null",
    created_at: "timestamptz",
    expires_at: "timestamptz",
    finished_at: "timestamptz null",
  },
  key: ["id"],
  lateIndexes: ["(created_at, id)", "(created_at) where status = 'WAITING'"],
});

export type MailRow = RowOf<typeof mails>;

const idOf = (stream: string) => ({ id: idInStream(stream) });

export const mailProjection = defineReadModel({
  name: "mail",
  version: 2,
  tables: [mails],
  events: mailEvents,
  effects: {
    MailScheduled: ({ data }) =>
      put(mails, {
        id: data.mailId,
        kind: data.kind,
        holder_id: data.holderId,
        request_id: data.requestId,
        recipient: data.to,
        status: "WAITING",
        failure: null,
        created_at: new Date(data.scheduledAt),
        expires_at: new Date(data.expiresAt),
        finished_at: null,
      }),
    MailSent: ({ stream, data }) =>
      change(mails, idOf(stream), { status: "SENT", finished_at: new Date(data.sentAt) }),
    MailFailed: ({ stream, data: { reason: failure, failedAt } }) =>
      change(mails, idOf(stream), {
        status: "FAILED",
        failure,
        finished_at: new Date(failedAt),
      }),
    MailRemoved: ({ stream }) => remove(mails, idOf(stream)),
  },
});

export function findMail(db: Knex, id: string): Promise<MailRow | undefined> {
  return db<MailRow>("mail").where({ id }).first();
}

export type MailFilter = Readonly<{ statuses?: readonly MailStatus[] | undefined }> & Part;

/** The newest first. */
export async function listMails(
  db: Knex,
  { statuses, ...part }: MailFilter,
): Promise<Slice<MailRow>> {
  const where = (query: Knex.QueryBuilder): void => {
    if (statuses !== undefined) query.whereIn("status", statuses);
  };
  return newestFirst<MailRow>(db, { table: "mail", where, ...part });
}

/** Ids of mails that still wait, the oldest first: those that have expired, or the others. */
export async function waitingMails(
  db: Knex,
  { expired, now, limit }: Readonly<{ expired: boolean; now: Date; limit: number }>,
): Promise<readonly string[]> {
  return await db<MailRow>("mail")
    .where({ status: "WAITING" })
    .andWhere("expires_at", expired ? "<=" : ">", now)
    .orderBy("created_at")
    .limit(limit)
    .pluck("id");
}

/** Ids of mails made before, the oldest first. */
export async function mailsBefore(
  db: Knex,
  before: Date,
  limit: number,
): Promise<readonly string[]> {
  return await db<MailRow>("mail")
    .where("created_at", "<", before)
    .orderBy("created_at")
    .limit(limit)
    .pluck("id");
}
