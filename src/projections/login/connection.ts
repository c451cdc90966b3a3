import type { Knex } from "knex";
import { idInStream } from "../../events/core/stream.ts";
import {
  ConnectionDetails,
  type ConnectionKind,
  loginConnectionEvents,
} from "../../events/login/connection.ts";
import { defineProjection } from "../core/projection.ts";
import type { Slice } from "../user/user.ts";

/** Secrets in `details` stay sealed: they are decrypted at a login. */
type LoginConnectionRow = Readonly<{
  id: string;
  kind: ConnectionKind;
  details: unknown;
  is_enabled: boolean;
  created_at: Date;
}>;

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

export const loginConnectionProjection = defineProjection({
  name: "login_connection",
  version: 1,
  tables: [table],
  async create(tx) {
    await tx.schema.createTable(table, (columns) => {
      columns.uuid("id").primary();
      columns.text("kind").notNullable();
      columns.jsonb("details").notNullable();
      columns.boolean("is_enabled").notNullable();
      columns.timestamp("created_at").notNullable();
      columns.index(["kind", "created_at", "id"]);
    });
  },
  events: loginConnectionEvents,
  handlers: {
    LoginConnectionCreated: async (tx, { data }) => {
      const row = {
        id: data.connectionId,
        kind: data.details.kind,
        details: data.details,
        is_enabled: false,
        created_at: new Date(data.createdAt),
      };
      await tx<LoginConnectionRow>(table).insert(row).onConflict("id").merge();
    },
    LoginConnectionChanged: async (tx, { stream, data }) => {
      const { details } = data;
      await tx<LoginConnectionRow>(table).where("id", idInStream(stream)).update({ details });
    },
    LoginConnectionEnabled: async (tx, { stream }) => {
      await tx<LoginConnectionRow>(table)
        .where("id", idInStream(stream))
        .update({ is_enabled: true });
    },
    LoginConnectionDisabled: async (tx, { stream }) => {
      await tx<LoginConnectionRow>(table)
        .where("id", idInStream(stream))
        .update({ is_enabled: false });
    },
  },
});

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
  { limit, offset, enabled }: ConnectionPage,
): Promise<Slice<ConnectionOf<Kind>>> {
  const shown = () =>
    db<LoginConnectionRow>(table)
      .where("kind", kind)
      .modify((query) => {
        if (enabled !== undefined) query.where("is_enabled", enabled);
      });
  const [rows, counted] = await Promise.all([
    shown()
      .orderBy([{ column: "created_at" }, { column: "id" }])
      .limit(limit)
      .offset(offset),
    shown().count({ total: "*" }).first(),
  ]);
  const connections = rows.map((row: LoginConnectionRow) => connectionOf<Kind>(row));
  return { rows: connections, total: Number(counted?.["total"] ?? 0) };
}

function connectionOf<Kind extends ConnectionKind>(row: LoginConnectionRow): ConnectionOf<Kind> {
  const details = ConnectionDetails.parse(row.details);
  // The rows were chosen by kind, and `kind` is a copy of what the details say.
  return { id: row.id, enabled: row.is_enabled, details } as ConnectionOf<Kind>;
}
