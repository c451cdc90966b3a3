import type { Knex } from "knex";

import { normaliseAlias, UserId } from "../../events/core/ids.ts";
import type { Sealed } from "../../events/core/sealed.ts";
import { idInStream } from "../../events/core/stream.ts";
import { userEvents } from "../../events/user/user.ts";
import { announce, type Change, change, put, type Values } from "../core/change.ts";
import { defineReadModel, nothing } from "../core/read-model.ts";
import { column, defineTable, type RowOf } from "../core/table.ts";
import { partPattern } from "../list/folded.ts";
import type { Slice } from "../list/list-rows.ts";
import { countedNear } from "../list/total.ts";

/** Of everybody who was not forgotten. */
const peopleTotals = defineTable({
  name: "app_user_total",
  columns: { is_confirmed: "boolean", total: "bigint" },
  key: ["is_confirmed"],
});

type PeopleTotal = RowOf<typeof peopleTotals>;

const people = defineTable({
  name: "app_user",
  columns: {
    id: column<UserId>("uuid"),
    alias: "text",
    alias_normalised: "text",
    /** Personal fields are null once the person was forgotten. */
    email: "text null",
    name: "text null",
    surname: "text null",
    avatar: "text null",
    cover: "text null",
    password_hash: "text null",
    is_admin: "boolean",
    is_confirmed: "boolean",
    /** A fact of its own: accounts may count as confirmed by a setting. */
    is_email_proved: "boolean",
    banned_at: "timestamptz null",
    forgotten_at: "timestamptz null",
    created_at: "timestamptz",
    /** Null: the instance's. */
    allowed_bytes: "bigint null",
  },
  key: ["id"],
  lateIndexes: [
    "(alias_normalised)",
    // Lists are paged in this order; the id makes it total.
    "(created_at, id)",
    "(lower(email))",
    "using gin (public.folded(alias) gin_trgm_ops) with (fastupdate = off)",
    "using gin (public.folded(email) gin_trgm_ops) with (fastupdate = off)",
  ],
  counts: [{ table: peopleTotals, where: "forgotten_at is null" }],
});

export type UserRow = RowOf<typeof people>;

export const userProjection = defineReadModel({
  name: "user",
  version: 7,
  tables: [people, peopleTotals],
  events: userEvents,
  opens: true,
  effects: {
    UserRegistered: ({ data }, open) =>
      put(people, {
        id: data.userId,
        alias: data.alias,
        alias_normalised: normaliseAlias(data.alias),
        email: open(data.email),
        name: null,
        surname: null,
        avatar: null,
        cover: null,
        password_hash: open(data.passwordHash),
        is_admin: data.admin,
        is_confirmed: data.confirmed,
        is_email_proved: data.emailProved === true,
        banned_at: null,
        forgotten_at: null,
        created_at: new Date(data.registeredAt),
        allowed_bytes: null,
      }),
    UserAliasChanged: ({ stream, data: { alias } }) =>
      changed(stream, { alias, alias_normalised: normaliseAlias(alias) }),
    UserEmailChanged: ({ stream, data }, open) =>
      changed(stream, {
        email: open(data.email),
        is_confirmed: data.confirmed,
        is_email_proved: false,
      }),
    UserEmailTakenBack: ({ stream, data }, open) =>
      changed(stream, { email: open(data.email), is_confirmed: true, is_email_proved: true }),
    UserEmailConfirmationRequested: nothing,
    UserEmailConfirmed: ({ stream }) =>
      changed(stream, { is_confirmed: true, is_email_proved: true }),
    UserPasswordResetRequested: nothing,
    UserPasswordChanged: ({ stream, data }, open) =>
      changed(stream, { password_hash: open(data.passwordHash) }),
    UserProfileChanged: ({ stream, data }, open) => {
      const opened = (sealed: Sealed | null | undefined) =>
        sealed === undefined ? undefined : open(sealed);
      return changed(stream, {
        name: opened(data.name),
        surname: opened(data.surname),
        avatar: opened(data.avatar),
        cover: opened(data.cover),
      });
    },
    UserBanned: ({ stream, data }) => changed(stream, { banned_at: new Date(data.bannedAt) }),
    UserUnbanned: ({ stream }) => changed(stream, { banned_at: null }),
    UserQuotaChanged: ({ stream, data: { allowedBytes } }) =>
      changed(stream, { allowed_bytes: allowedBytes === null ? null : BigInt(allowedBytes) }),
    UserForgotten: ({ stream, data }) =>
      changed(stream, {
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

function changed(stream: string, columns: Values<UserRow>): readonly Change[] {
  const id = idInStream(stream) as UserId;
  return [change(people, { id }, columns), announce(`user-${id}`)];
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
  const matching = () =>
    db<UserRow>("app_user")
      .whereNull("forgotten_at")
      .modify((query) => {
        if (alias !== undefined) query.where("alias_normalised", normaliseAlias(alias));
        if (email !== undefined) query.whereRaw("lower(email) = lower(?)", [email.trim()]);
        if (part === undefined) return;
        const pattern = partPattern(part);
        query.whereRaw("(public.folded(alias) ~ ? or public.folded(email) ~ ?)", [
          ...[pattern, pattern],
        ]);
      });
  const searched = [alias, email, part].some((each) => each !== undefined);
  const [rows, total] = await Promise.all([
    matching()
      .orderBy([{ column: "created_at" }, { column: "id" }])
      .limit(limit)
      .offset(offset),
    searched ? countedNear(db, matching(), { limit, offset }) : countPeople(db),
  ]);
  return { rows, total };
}

async function countPeople(db: Knex): Promise<number> {
  const row = await db<PeopleTotal>("app_user_total").sum({ total: "total" }).first();
  return Number(row?.["total"] ?? 0);
}
