import type { Knex } from "knex";
import { idInStream } from "../../events/core/stream.ts";
import { type MailKind, mailEvents } from "../../events/user/mail.ts";
import { newestFirst, type Part } from "../core/list-rows.ts";
import { defineProjection, type Tx } from "../core/projection.ts";
import type { Slice } from "./user.ts";

export type MailStatus = "WAITING" | "SENT" | "FAILED";

export type MailRow = Readonly<{
  id: string;
  kind: MailKind;
  holder_id: string;
  request_id: string;
  /** Sealed: opened for requests of an administrator, so it is unreadable once the person is forgotten. */
  recipient: string;
  status: MailStatus;
  /** Why it was not sent. */
  failure: string | null;
  created_at: Date;
  expires_at: Date;
  finished_at: Date | null;
}>;

export const mailProjection = defineProjection({
  name: "mail",
  version: 1,
  tables: ["mail"],
  async create(tx) {
    await tx.schema.createTable("mail", (table) => {
      table.uuid("id").primary();
      table.text("kind").notNullable();
      table.uuid("holder_id").notNullable();
      table.uuid("request_id").notNullable();
      table.text("recipient").notNullable();
      table.text("status").notNullable();
      table.text("failure");
      table.timestamp("created_at").notNullable();
      table.timestamp("expires_at").notNullable();
      table.timestamp("finished_at");
      table.index(["created_at", "id"]);
    });
    await tx.raw("create index mail_waiting on mail (created_at) where status = 'WAITING'");
  },
  events: mailEvents,
  handlers: {
    MailScheduled: async (tx, { data }) => {
      const row = {
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
      } as const;
      await tx<MailRow>("mail").insert(row).onConflict("id").merge();
    },
    MailSent: (tx, { stream, data }) =>
      finish(tx, stream, { status: "SENT", finished_at: new Date(data.sentAt) }),
    MailFailed: (tx, { stream, data }) => {
      const finished_at = new Date(data.failedAt);
      return finish(tx, stream, { status: "FAILED", failure: data.reason, finished_at });
    },
    MailRemoved: async (tx, { stream }) => {
      await tx<MailRow>("mail")
        .where({ id: idInStream(stream) })
        .delete();
    },
  },
});

async function finish(tx: Tx, stream: string, columns: Partial<MailRow>): Promise<void> {
  await tx<MailRow>("mail")
    .where({ id: idInStream(stream) })
    .update(columns);
}

export function findMail(db: Knex, id: string): Promise<MailRow | undefined> {
  return db<MailRow>("mail").where({ id }).first();
}

export type MailFilter = Readonly<{ status?: MailStatus | undefined }> & Part;

/** The newest first. */
export async function listMails(
  db: Knex,
  { status, ...part }: MailFilter,
): Promise<Slice<MailRow>> {
  const where = status === undefined ? {} : { status };
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
