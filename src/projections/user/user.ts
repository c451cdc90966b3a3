import type { Knex } from "knex";

import { normaliseAlias, UserId } from "../../events/core/ids.ts";
import { idInStream } from "../../events/core/stream.ts";
import { userEvents } from "../../events/user/user.ts";
import { announceChange } from "../core/announce.ts";
import { escapeLike } from "../core/like.ts";
import { defineProjection, ignore, type Tx } from "../core/projection.ts";
import { countedNear, keptTotal } from "../core/total.ts";

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
  /** A fact of its own: accounts may count as confirmed by a setting. */
  is_email_proved: boolean;
  banned_at: Date | null;
  forgotten_at: Date | null;
  created_at: Date;
}>;

/** Of everybody who was not forgotten. */
const peopleTotal = keptTotal("app_user", "forgotten_at is null");

export const userProjection = defineProjection({
  name: "user",
  version: 4,
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
      table.boolean("is_email_proved").notNullable();
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
        is_email_proved: data.emailProved === true,
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
      change(tx, stream, {
        email: await open(data.email),
        is_confirmed: data.confirmed,
        is_email_proved: false,
      }),
    UserEmailTakenBack: async (tx, { stream, data }, { open }) =>
      change(tx, stream, {
        email: await open(data.email),
        is_confirmed: true,
        is_email_proved: true,
      }),
    UserEmailConfirmationRequested: ignore,
    UserEmailConfirmed: (tx, { stream }) =>
      change(tx, stream, { is_confirmed: true, is_email_proved: true }),
    UserPasswordResetRequested: ignore,
    UserPasswordChanged: async (tx, { stream, data }, { open }) =>
      change(tx, stream, { password_hash: await open(data.passwordHash) }),
    UserProfileChanged: async (tx, { stream, data }, { open }) => {
      const columns: Record<string, string | null> = {};
      for (const field of ["name", "surname", "avatar", "cover"] as const) {
        const sealed = data[field];
        if (sealed !== undefined) columns[field] = sealed && (await open(sealed));
      }
      await change(tx, stream, columns);
    },
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

/** By alias or id. An id wins, so that nobody takes another's place by an alias of that form. */
export async function findUserNamed(db: Knex, name: string): Promise<UserRow | undefined> {
  const byId = UserId.safeParse(name).success ? await findUserById(db, name) : undefined;
  return byId ?? findUser(db, name);
}

export async function findUsersById(
  db: Knex,
  ids: readonly string[],
): Promise<ReadonlyMap<string, UserRow>> {
  const rows = await db<UserRow>("app_user").whereIn("id", ids).whereNull("forgotten_at");
  return new Map(rows.map((row) => [row.id, row]));
}

/** Those of the aliases that users have, who were not forgotten. */
export async function findUsersByAlias(
  db: Knex,
  aliases: readonly string[],
): Promise<readonly UserRow[]> {
  if (aliases.length === 0) return [];
  return db<UserRow>("app_user")
    .whereIn("alias_normalised", aliases.map(normaliseAlias))
    .whereNull("forgotten_at");
}

export function findUserById(db: Knex, id: string): Promise<UserRow | undefined> {
  return db<UserRow>("app_user").where("id", id).first();
}

/** By alias. */
export async function listAdministrators(db: Knex, limit: number): Promise<readonly UserRow[]> {
  return db<UserRow>("app_user")
    .where({ is_admin: true })
    .whereNull("forgotten_at")
    .orderBy("alias_normalised")
    .limit(limit);
}

export type Slice<Row> = Readonly<{ rows: readonly Row[]; total: number }>;

export type UserFilter = Readonly<{
  /** Whole values, in any case. */
  alias?: string | undefined;
  email?: string | undefined;
  /** Part of the alias or the e-mail, in any case. */
  part?: string | undefined;
  limit: number;
  offset: number;
}>;

/** Everybody who was not forgotten, in order of registration. */
export async function listUsers(
  db: Knex,
  { alias, email, part, limit, offset }: UserFilter,
): Promise<Slice<UserRow>> {
  const shown = () =>
    db<UserRow>("app_user")
      .whereNull("forgotten_at")
      .modify((query) => {
        if (alias !== undefined) query.where("alias_normalised", normaliseAlias(alias));
        if (email !== undefined) query.whereRaw("lower(email) = lower(?)", [email.trim()]);
        if (part === undefined) return;
        const pattern = `%${escapeLike(part)}%`;
        query.where((either) => either.whereILike("alias", pattern).orWhereILike("email", pattern));
      });
  const searched = [alias, email, part].some((each) => each !== undefined);
  const [rows, total] = await Promise.all([
    shown()
      .orderBy([{ column: "created_at" }, { column: "id" }])
      .limit(limit)
      .offset(offset),
    searched ? countedNear(db, shown(), { limit, offset }) : peopleTotal.read(db),
  ]);
  return { rows, total };
}
