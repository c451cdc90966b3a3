import type { Knex } from "knex";
import type { Sealed } from "../../events/core/sealed.ts";
import { idInStream } from "../../events/core/stream.ts";
import { oauthApplicationEvents } from "../../events/oauth/application.ts";
import { change, put, remove, statement } from "../core/change.ts";
import { defineReadModel } from "../core/read-model.ts";
import { column, defineTable, type RowOf } from "../core/table.ts";
import { oldestFirst, type Part, type Slice } from "../list/list-rows.ts";

const applications = defineTable({
  name: "oauth_application",
  columns: {
    id: "uuid",
    owner_id: "uuid",
    name: "text",
    description: "text",
    homepage_url: "text",
    callback_url: "text",
    is_standalone: "boolean",
    is_registered: "boolean",
    client_id: "text",
    /** Opened only for its owner's eyes. */
    client_secret: column<Sealed>("text"),
    created_at: "timestamptz",
    /** Codes that were given before are void; null when the address never changed. */
    callback_changed_at: "timestamptz null",
  },
  key: ["id"],
  unique: ["(client_id)"],
  lateIndexes: ["(owner_id, created_at, id)"],
});

export type OAuthApplicationRow = RowOf<typeof applications>;

export const oauthApplicationProjection = defineReadModel({
  name: "oauth_application",
  version: 3,
  tables: [applications],
  events: oauthApplicationEvents,
  effects: {
    OAuthApplicationCreated: ({ data }) =>
      put(applications, {
        id: data.applicationId,
        owner_id: data.ownerId,
        ...columnsOf(data.details),
        is_registered: false,
        client_id: data.clientId,
        client_secret: data.clientSecret,
        created_at: new Date(data.createdAt),
        callback_changed_at: null,
      }),
    OAuthApplicationChanged: ({ stream, data: { details, changedAt } }) => [
      statement(moveCallback, [new Date(changedAt), idInStream(stream), details.authCallbackUrl]),
      change(applications, idOf(stream), columnsOf(details)),
    ],
    OAuthApplicationRegistered: ({ stream }) =>
      change(applications, idOf(stream), { is_registered: true }),
    OAuthApplicationDeleted: ({ stream }) => remove(applications, idOf(stream)),
  },
});

/** Notes when the address of an application becomes another one. */
const moveCallback = `
  update oauth_application set callback_changed_at = ? where id = ? and callback_url <> ?`;

const idOf = (stream: string) => ({ id: idInStream(stream) });

type Details = Readonly<{
  name: string;
  description: string;
  homepageUrl: string;
  authCallbackUrl: string;
  standalone: boolean;
}>;

const columnsOf = (details: Details) => ({
  name: details.name,
  description: details.description,
  homepage_url: details.homepageUrl,
  callback_url: details.authCallbackUrl,
  is_standalone: details.standalone,
});

/** An application of this user; another's is as good as none. */
export function findOAuthApplication(
  db: Knex,
  ownerId: string,
  id: string,
): Promise<OAuthApplicationRow | undefined> {
  return db<OAuthApplicationRow>("oauth_application").where({ id, owner_id: ownerId }).first();
}

/** Whether the address that codes are sent to changed since then. */
export async function callbackChangedSince(db: Knex, id: string, time: Date): Promise<boolean> {
  const row = await db<OAuthApplicationRow>("oauth_application")
    .where({ id })
    .andWhere("callback_changed_at", ">=", time)
    .first("id");
  return row !== undefined;
}

export type ClientRow = OAuthApplicationRow & Readonly<{ owner_alias: string }>;

/** A registered application whose owner is not blocked: only such applications may get tokens. */
export function findClient(db: Knex, clientId: string): Promise<ClientRow | undefined> {
  return db("oauth_application")
    .join("app_user", "app_user.id", "oauth_application.owner_id")
    .where({ client_id: clientId, is_registered: true })
    .whereNull("app_user.banned_at")
    .whereNull("app_user.forgotten_at")
    .first<ClientRow | undefined>("oauth_application.*", "app_user.alias as owner_alias");
}

/** Oldest first. */
export function listOAuthApplications(
  db: Knex,
  { ownerId, ...part }: Readonly<{ ownerId: string }> & Part,
): Promise<Slice<OAuthApplicationRow>> {
  return oldestFirst<OAuthApplicationRow>(db, {
    table: "oauth_application",
    where: { owner_id: ownerId },
    ...part,
  });
}
