import type { Knex } from "knex";

import type { EventOf, Recorded } from "../../events/core/event.ts";
import { normaliseAlias, UserId } from "../../events/core/ids.ts";
import { idInStream } from "../../events/core/stream.ts";
import { userEvents } from "../../events/user/user.ts";
import { escapeLike } from "../core/like.ts";
import { ignore } from "../core/projection.ts";
import { defineRowProjection } from "../core/row-projection.ts";
import { countedNear, keptTotal } from "../core/total.ts";
import { tableOf, type Writes } from "../core/writes.ts";

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
  /** Null: the instance's. */
  allowed_bytes: bigint | null;
}>;

/** Of everybody who was not forgotten. */
const peopleTotal = keptTotal("app_user", "forgotten_at is null", ["forgotten_at"]);
const people = tableOf<UserRow>({ name: "app_user", key: ["id"], total: peopleTotal });

export const userProjection = defineRowProjection({
  name: "user",
  version: 5,
  tables: ["app_user", peopleTotal.table],
  async create(tx) {
    await tx.schema.createTable("app_user", (table) => {
      table.uuid("id").primary();
      table.text("alias").notNullable();
      table.text("alias_normalised").notNullable();
      for (const column of ["email", "name", "surname", "avatar", "cover", "password_hash"]) {
        table.text(column);
      }
      table.boolean("is_admin").notNullable();
      table.boolean("is_confirmed").notNullable();
      table.boolean("is_email_proved").notNullable();
      table.timestamp("banned_at");
      table.timestamp("forgotten_at");
      table.timestamp("created_at").notNullable();
      table.bigInteger("allowed_bytes");
    });
    await peopleTotal.create(tx);
  },
  async index(tx) {
    await tx.schema.alterTable("app_user", (table) => {
      table.index(["alias_normalised"]);
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
  },
  events: userEvents,
  sealed: sealedIn,
  handlers: {
    UserRegistered: async (rows, { data }, { open }) => {
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
        allowed_bytes: null,
      };
      rows.put(people, row);
    },
    UserAliasChanged: (rows, { stream, data }) =>
      change(rows, stream, { alias: data.alias, alias_normalised: normaliseAlias(data.alias) }),
    UserEmailChanged: async (rows, { stream, data }, { open }) =>
      change(rows, stream, {
        email: await open(data.email),
        is_confirmed: data.confirmed,
        is_email_proved: false,
      }),
    UserEmailTakenBack: async (rows, { stream, data }, { open }) =>
      change(rows, stream, {
        email: await open(data.email),
        is_confirmed: true,
        is_email_proved: true,
      }),
    UserEmailConfirmationRequested: ignore,
    UserEmailConfirmed: (rows, { stream }) =>
      change(rows, stream, { is_confirmed: true, is_email_proved: true }),
    UserPasswordResetRequested: ignore,
    UserPasswordChanged: async (rows, { stream, data }, { open }) =>
      change(rows, stream, { password_hash: await open(data.passwordHash) }),
    UserProfileChanged: async (rows, { stream, data }, { open }) => {
      const columns: Record<string, string | null> = {};
      for (const field of ["name", "surname", "avatar", "cover"] as const) {
        const sealed = data[field];
        if (sealed !== undefined) columns[field] = sealed && (await open(sealed));
      }
      change(rows, stream, columns);
    },
    UserBanned: (rows, { stream, data }) =>
      change(rows, stream, { banned_at: new Date(data.bannedAt) }),
    UserQuotaChanged: (rows, { stream, data: { allowedBytes } }) =>
      change(rows, stream, { allowed_bytes: allowedBytes === null ? null : BigInt(allowedBytes) }),
    UserUnbanned: (rows, { stream }) => change(rows, stream, { banned_at: null }),
    UserForgotten: (rows, { stream, data }) =>
      change(rows, stream, {
        email: null,
        name: null,
        surname: null,
        avatar: null,
        cover: null,
        password_hash: null,
        forgotten_at: new Date(data.forgottenAt),
      }),
  },
});

/** What the handlers below open. */
function sealedIn({ type, data }: Recorded<EventOf<typeof userEvents>>) {
  switch (type) {
    case "UserRegistered":
      return [data.email, data.passwordHash];
    case "UserEmailChanged":
    case "UserEmailTakenBack":
      return [data.email];
    case "UserPasswordChanged":
      return [data.passwordHash];
    case "UserProfileChanged":
      return [data.name, data.surname, data.avatar, data.cover];
    default:
      return [];
  }
}

function change(rows: Writes, stream: string, columns: Partial<UserRow>): void {
  const id = idInStream(stream) as UserId;
  rows.change(people, { id }, columns);
  rows.announce(`user-${id}`);
}

export function findUser(db: Knex, alias: string): Promise<UserRow | undefined> {
  return db<UserRow>("app_user")
    .where({ alias_normalised: normaliseAlias(alias) })
    .first();
}

/** By alias or id. An id wins, so that no user can pose as another by an alias of that form. */
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
