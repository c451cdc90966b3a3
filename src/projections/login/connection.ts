import type { Knex } from "knex";
import { idInStream } from "../../events/core/stream.ts";
import {
  ConnectionDetails,
  type ConnectionKind,
  loginConnectionEvents,
} from "../../events/login/connection.ts";
import { change, put } from "../core/change.ts";
import { defineReadModel } from "../core/read-model.ts";
import { column, defineTable, type RowOf } from "../core/table.ts";
import { oldestFirst, type Slice } from "../list/list-rows.ts";

export type LoginConnection<Details extends ConnectionDetails = ConnectionDetails> = Readonly<{
  id: string;
  details: Details;
  enabled: boolean;
}>;

/** The connection of a kind: `ConnectionOf<"SAML">`. */
export type ConnectionOf<Kind extends ConnectionKind> = LoginConnection<
  Extract<ConnectionDetails, { kind: Kind }>
>;

const table = "login_connection";

/** Secrets in `details` stay sealed: they are decrypted at a login. */
const connections = defineTable({
  name: table,
  columns: {
    id: "uuid",
    kind: column<ConnectionKind>("text"),
    details: "jsonb",
    is_enabled: "boolean",
    created_at: "timestamptz",
  },
  key: ["id"],
  lateIndexes: ["(kind, created_at, id)"],
});

type LoginConnectionRow = RowOf<typeof connections>;

export const loginConnectionProjection = defineReadModel({
  name: "login_connection",
  version: 2,
  tables: [connections],
  events: loginConnectionEvents,
  effects: {
    LoginConnectionCreated: ({ data: { connectionId: id, details, createdAt } }) =>
      put(connections, {
        id,
        kind: details.kind,
        details,
        is_enabled: false,
        created_at: new Date(createdAt),
      }),
    LoginConnectionChanged: ({ stream, data: { details } }) =>
      change(connections, idOf(stream), { details }),
    LoginConnectionEnabled: ({ stream }) => change(connections, idOf(stream), { is_enabled: true }),
    LoginConnectionDisabled: ({ stream }) =>
      change(connections, idOf(stream), { is_enabled: false }),
  },
});

const idOf = (stream: string) => ({ id: idInStream(stream) });

/** A connection of this kind; one of another is as good as none. */
export async function findLoginConnection<Kind extends ConnectionKind>(
  db: Knex,
  kind: Kind,
  id: string,
): Promise<ConnectionOf<Kind> | undefined> {
  const row = await db<LoginConnectionRow>(table).where("id", id).andWhere("kind", kind).first();
  return row && connectionOf<Kind>(row);
}

export type ConnectionPage = Readonly<{ limit: number; offset: number; enabled?: boolean }>;

/** Oldest first. */
export async function listLoginConnections<Kind extends ConnectionKind>(
  db: Knex,
  kind: Kind,
  { enabled, ...part }: ConnectionPage,
): Promise<Slice<ConnectionOf<Kind>>> {
  const where = { kind, ...(enabled !== undefined && { is_enabled: enabled }) };
  const { rows, total } = await oldestFirst<LoginConnectionRow>(db, { table, where, ...part });
  return { rows: rows.map((row) => connectionOf<Kind>(row)), total };
}

function connectionOf<Kind extends ConnectionKind>(row: LoginConnectionRow): ConnectionOf<Kind> {
  const details = ConnectionDetails.parse(row.details);
  // The rows were chosen by kind, and `kind` is a copy of what the details say.
  return { id: row.id, enabled: row.is_enabled, details } as ConnectionOf<Kind>;
}
