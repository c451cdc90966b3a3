import type { Knex } from "knex";
import type { Sealed } from "../../events/core/sealed.ts";
import { idInStream } from "../../events/core/stream.ts";
import { externalIdentityEvents } from "../../events/login/external-identity.ts";
import { userEvents } from "../../events/user/user.ts";
import { put, remove } from "../core/change.ts";
import { defineReadModel } from "../core/read-model.ts";
import { column, defineTable, type RowOf } from "../core/table.ts";

const { UserForgotten } = userEvents;

const table = "external_identity";

const identities = defineTable({
  name: table,
  columns: {
    connection_id: "uuid",
    subject_digest: "text",
    subject: column<Sealed>("text"),
    user_id: "uuid",
    linked_at: "timestamptz",
  },
  key: ["connection_id", "subject_digest"],
  indexes: ["(user_id)"],
});

export type ExternalIdentityRow = RowOf<typeof identities>;

export const externalIdentityProjection = defineReadModel({
  name: "external_identity",
  version: 2,
  tables: [identities],
  events: { ...externalIdentityEvents, UserForgotten },
  effects: {
    ExternalIdentityLinked: ({ data }) =>
      put(identities, {
        connection_id: data.connectionId,
        subject_digest: data.subjectDigest,
        subject: data.subject,
        user_id: data.userId,
        linked_at: new Date(data.linkedAt),
      }),
    UserForgotten: ({ stream }) => remove(identities, { user_id: idInStream(stream) }),
  },
});

/** The identities of a user at directories and providers; a handful at most. */
export async function identitiesOf(
  db: Knex,
  userId: string,
): Promise<readonly ExternalIdentityRow[]> {
  return await db<ExternalIdentityRow>(table)
    .where("user_id", userId)
    .orderBy(["linked_at", "connection_id", "subject_digest"])
    .limit(100);
}
