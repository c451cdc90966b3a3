import type { Knex } from "knex";
import type { Sealed } from "../../events/core/sealed.ts";
import { idInStream } from "../../events/core/stream.ts";
import { externalIdentityEvents } from "../../events/login/external-identity.ts";
import { userEvents } from "../../events/user/user.ts";
import { defineProjection } from "../core/projection.ts";

const { UserForgotten } = userEvents;

export type ExternalIdentityRow = Readonly<{
  connection_id: string;
  subject_digest: string;
  subject: Sealed;
  user_id: string;
  linked_at: Date;
}>;

const table = "external_identity";

export const externalIdentityProjection = defineProjection({
  name: "external_identity",
  version: 1,
  tables: [table],
  async create(tx) {
    await tx.schema.createTable(table, (columns) => {
      columns.uuid("connection_id").notNullable();
      columns.text("subject_digest").notNullable();
      columns.text("subject").notNullable();
      columns.uuid("user_id").notNullable().index();
      columns.timestamp("linked_at").notNullable();
      columns.primary(["connection_id", "subject_digest"]);
    });
  },
  events: { ...externalIdentityEvents, UserForgotten },
  handlers: {
    ExternalIdentityLinked: async (tx, { data }) => {
      const row = {
        connection_id: data.connectionId,
        subject_digest: data.subjectDigest,
        subject: data.subject,
        user_id: data.userId,
        linked_at: new Date(data.linkedAt),
      };
      await tx<ExternalIdentityRow>(table)
        .insert(row)
        .onConflict(["connection_id", "subject_digest"])
        .merge();
    },
    UserForgotten: async (tx, { stream }) => {
      await tx<ExternalIdentityRow>(table).where("user_id", idInStream(stream)).delete();
    },
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
