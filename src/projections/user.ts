import type { Knex } from "knex";

import { normaliseAlias, type UserId } from "../events/ids.ts";
import { idInStream } from "../events/stream.ts";
import { userEvents } from "../events/user.ts";
import { announceChange } from "./announce.ts";
import { escapeLike } from "./like.ts";
import { defineProjection, ignore, type Tx } from "./projection.ts";
import { countedNear, keptTotal } from "./total.ts";

export type UserRow = Readonly<{
  id: UserId;
  alias: string;
  alias_normalised: string;
  /** Personal fields are null once the person was forgotten. */
  email: string | null;
  name: string | null;
  surname: string | null;
  avatar: string | null;
  cover: string | null;
  password_hash: string | null;
  is_admin: boolean;
  is_confirmed: boolean;
  banned_at: Date | null;
  forgotten_at: Date | null;
  created_at: Date;
}>;

/** Of everybody who was not forgotten. */
const peopleTotal = keptTotal("app_user", "forgotten_at is null");

export const userProjection = defineProjection({
  name: "user",
  version: 3,
  tables: ["app_user", peopleTotal.table],
  async create(tx) {
    await tx.schema.createTable("app_user", (table) => {
      table.uuid("id").primary();
      table.text("alias").notNullable();
      table.text("alias_normalised").notNullable().index();
      for (const column of ["email", "name", "surname", "avatar", "cover", "password_hash"]) {
        table.text(column);
      }
      table.boolean("is_admin").notNullable();
      table.boolean("is_confirmed").notNullable();
      table.timestamp("banned_at");
      table.timestamp("forgotten_at");
      table.timestamp("created_at").notNullable();
      // Lists are paged in this order; the id makes it total.
      table.index(["created_at", "id"]);
    });
    await tx.raw("create index app_user_email on app_user (lower(email))");
    for (const column of ["alias", "email"]) {
      const name = `app_user_${column}_part`;
      await tx.raw(
        "create index ?? on app_user using gin (?? gin_trgm_ops) with (fastupdate = off)",
        [name, column],
      );
    }
    await peopleTotal.create(tx);
  },
  events: userEvents,
  handlers: {
    UserRegistered: async (tx, { data }, { open }) => {
      const row = {
        id: data.userId,
        alias: data.alias,
        alias_normalised: normaliseAlias(data.alias),
        email: await open(data.email),
        name: null,
        surname: null,
        avatar: null,
        cover: null,
        password_hash: data.passwordHash && (await open(data.passwordHash)),
        is_admin: data.admin,
        is_confirmed: data.confirmed,
        banned_at: null,
        forgotten_at: null,
        created_at: new Date(data.registeredAt),
      };
      await peopleTotal.around(tx, row.id, async () => {
        await tx<UserRow>("app_user").insert(row).onConflict("id").merge();
      });
    },
    UserAliasChanged: (tx, { stream, data }) =>
      change(tx, stream, { alias: data.alias, alias_normalised: normaliseAlias(data.alias) }),
    UserEmailChanged: async (tx, { stream, data }, { open }) =>
      change(tx, stream, { email: await open(data.email), is_confirmed: data.confirmed }),
    UserEmailConfirmationRequested: ignore,
    UserEmailConfirmed: (tx, { stream }) => change(tx, stream, { is_confirmed: true }),
    UserPasswordResetRequested: ignore,
    UserPasswordChanged: async (tx, { stream, data }, { open }) =>
      change(tx, stream, { password_hash: await open(data.passwordHash) }),
    UserProfileChanged: async (tx, { stream, data }, { open }) =>
      change(tx, stream, {
        name: data.name && (await open(data.name)),
        surname: data.surname && (await open(data.surname)),
        avatar: data.avatar && (await open(data.avatar)),
        cover: data.cover && (await open(data.cover)),
      }),
    UserBanned: (tx, { stream, data }) =>
      change(tx, stream, { banned_at: new Date(data.bannedAt) }),
    UserUnbanned: (tx, { stream }) => change(tx, stream, { banned_at: null }),
    UserForgotten: (tx, { stream, data }) =>
      peopleTotal.around(tx, idInStream(stream), () =>
        change(tx, stream, {
          email: null,
          name: null,
          surname: null,
          avatar: null,
          cover: null,
          password_hash: null,
          forgotten_at: new Date(data.forgottenAt),
        }),
      ),
  },
});

async function change(tx: Tx, stream: string, columns: Partial<UserRow>): Promise<void> {
  const id = idInStream(stream);
  await tx<UserRow>("app_user")
    .where({ id: id as UserId })
    .update(columns);
  await announceChange(tx, `user-${id}`);
}

export function findUser(db: Knex, alias: string): Promise<UserRow | undefined> {
  return db<UserRow>("app_user")
    .where({ alias_normalised: normaliseAlias(alias) })
    .first();
}

export async function findUsersById(
  db: Knex,
  ids: readonly string[],
): Promise<ReadonlyMap<string, UserRow>> {
  const rows = await db<UserRow>("app_user").whereIn("id", ids).whereNull("forgotten_at");
  return new Map(rows.map((row) => [row.id, row]));
}

export function findUserById(db: Knex, id: string): Promise<UserRow | undefined> {
  return db<UserRow>("app_user").where("id", id).first();
}

export type Slice<Row> = Readonly<{ rows: readonly Row[]; total: number }>;

export type UserFilter = Readonly<{
  /** Parts, in any case. */
  alias?: string | undefined;
  email?: string | undefined;
  limit: number;
  offset: number;
}>;

/** Everybody who was not forgotten, in order of registration. */
export async function listUsers(
  db: Knex,
  { alias, email, limit, offset }: UserFilter,
): Promise<Slice<UserRow>> {
  const shown = () =>
    db<UserRow>("app_user")
      .whereNull("forgotten_at")
      .modify((query) => {
        if (alias !== undefined) query.whereILike("alias", `%${escapeLike(alias)}%`);
        if (email !== undefined) query.whereILike("email", `%${escapeLike(email)}%`);
      });
  const searched = alias !== undefined || email !== undefined;
  const [rows, total] = await Promise.all([
    shown()
      .orderBy([{ column: "created_at" }, { column: "id" }])
      .limit(limit)
      .offset(offset),
    searched ? countedNear(db, shown(), { limit, offset }) : peopleTotal.read(db),
  ]);
  return { rows, total };
}
