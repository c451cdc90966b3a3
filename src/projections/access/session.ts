import type { Knex } from "knex";
import { type LoginVia, sessionEvents } from "../../events/access/session.ts";
import type { Recorded } from "../../events/core/event.ts";
import type { SessionId, UserId } from "../../events/core/ids.ts";
import type { Sealed } from "../../events/core/sealed.ts";
import { idInStream } from "../../events/core/stream.ts";
import { userEvents } from "../../events/user/user.ts";
import { type Change, put, remove } from "../core/change.ts";
import { defineReadModel } from "../core/read-model.ts";
import { column, defineTable, type RowOf } from "../core/table.ts";
import type { Slice } from "../list/list-rows.ts";

const sessions = defineTable({
  name: "session",
  columns: {
    id: column<SessionId>("uuid"),
    user_id: column<UserId>("uuid"),
    via: column<LoginVia>("text"),
    /** SHA-256 of the cookie's text, hex. */
    secret_hash: "text",
    /** Both are opened when the person views their sessions. */
    user_agent: column<Sealed | null>("text null"),
    ip: column<Sealed | null>("text null"),
    opened_at: "timestamptz",
  },
  key: ["id"],
  unique: ["(secret_hash)"],
  indexes: ["(user_id, opened_at, id)"],
  lateIndexes: ["(opened_at)"],
});

type SessionRow = RowOf<typeof sessions>;

const { UserBanned, UserPasswordChanged, UserForgotten } = userEvents;

/**
 * Sessions that were not ended; one that was idle for too long is here until it is swept. Lifting a
 * ban brings no session back.
 */
export const sessionProjection = defineReadModel({
  name: "session",
  version: 2,
  tables: [sessions],
  events: { ...sessionEvents, UserBanned, UserPasswordChanged, UserForgotten },
  effects: {
    SessionOpened: ({ data, metadata }) =>
      put(sessions, {
        id: data.sessionId,
        user_id: data.userId,
        via: data.via,
        secret_hash: data.secretHash,
        user_agent: data.userAgent,
        ip: metadata.ip,
        opened_at: new Date(data.openedAt),
      }),
    SessionClosed: ({ stream }) => remove(sessions, { id: idInStream(stream) as SessionId }),
    UserBanned: endAll,
    UserPasswordChanged: endAll,
    UserForgotten: endAll,
  },
});

function endAll({ stream }: Recorded): Change {
  return remove(sessions, { user_id: idInStream(stream) as UserId });
}

/** With the last sign of life, which is kept beside the read models, and whose session it is. */
export type SeenSessionRow = SessionRow & Readonly<{ seen_at: Date }>;
export type OpenSessionRow = SeenSessionRow & Readonly<{ alias: string; is_admin: boolean }>;

const lastSeen = "greatest(session.opened_at, session_use.seen_at)";

const seen = (db: Knex) =>
  db("session").leftJoin(
    "public.session_use as session_use",
    "session_use.session_id",
    "session.id",
  );

/** The session of a cookie whose user may come in, however long it was idle. */
export function findOpenSession(db: Knex, secretHash: string): Promise<OpenSessionRow | undefined> {
  return seen(db)
    .join("app_user", "app_user.id", "session.user_id")
    .where("session.secret_hash", secretHash)
    .whereNull("app_user.banned_at")
    .whereNull("app_user.forgotten_at")
    .first("session.*", "app_user.alias", "app_user.is_admin", db.raw(`${lastSeen} as seen_at`));
}

/** Newest first, without those that were idle since before the given time. */
export async function listSessions(
  db: Knex,
  { userId, seenSince, limit }: Readonly<{ userId: string; seenSince: Date; limit: number }>,
): Promise<Slice<SeenSessionRow>> {
  const matching = () =>
    seen(db).where("session.user_id", userId).whereRaw(`${lastSeen} >= ?`, [seenSince]);
  const [rows, counted] = await Promise.all([
    matching()
      .orderBy([{ column: "session.opened_at", order: "desc" }, { column: "session.id" }])
      .limit(limit)
      .select<SeenSessionRow[]>("session.*", db.raw(`${lastSeen} as seen_at`)),
    matching().count({ total: "*" }).first(),
  ]);
  return { rows, total: Number(counted?.["total"] ?? 0) };
}

/** Ids of sessions that were idle since before the given time, some of them. */
export async function idleSessions(
  db: Knex,
  before: Date,
  limit: number,
): Promise<readonly SessionId[]> {
  const rows = await seen(db)
    .where("session.opened_at", "<", before)
    .whereRaw(`${lastSeen} < ?`, [before])
    .limit(limit)
    .select<{ id: SessionId }[]>("session.id");
  return rows.map(({ id }) => id);
}
