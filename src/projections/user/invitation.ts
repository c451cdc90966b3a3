import type { Knex } from "knex";
import type { ParentType, Role } from "../../events/core/role.ts";
import { idInStream } from "../../events/core/stream.ts";
import { invitationEvents } from "../../events/user/invitation.ts";
import { put, remove } from "../core/change.ts";
import { purgeEvents } from "../core/purge.ts";
import { defineReadModel } from "../core/read-model.ts";
import { column, defineTable, type RowOf } from "../core/table.ts";
import { oldestFirst, type Part, type Slice } from "../list/list-rows.ts";

/** Open ones; those that ended leave nothing. */
const invitations = defineTable({
  name: "invitation",
  columns: {
    id: "uuid",
    /** Of its stream. */
    place_id: "uuid",
    parent_id: "uuid",
    parent_type: column<ParentType>("text"),
    role: column<Role>("text"),
    /** Sealed: opened for requests of an ADMIN of the place. */
    email: "text",
    email_digest: "text",
    invited_by_id: "uuid",
    created_at: "timestamptz",
    expires_at: "timestamptz",
  },
  key: ["id"],
  indexes: ["(parent_id, created_at, id)"],
  lateIndexes: ["(email_digest)", "(invited_by_id)", "(expires_at)"],
});

export type InvitationRow = RowOf<typeof invitations>;

export const invitationProjection = defineReadModel({
  name: "invitation",
  version: 4,
  tables: [invitations],
  events: { ...invitationEvents, ...purgeEvents },
  effects: {
    InvitationMade: ({ stream, data }) =>
      put(invitations, {
        id: data.invitationId,
        place_id: idInStream(stream),
        parent_id: data.parentId,
        parent_type: data.parentType,
        role: data.role,
        email: data.email,
        email_digest: data.emailDigest,
        invited_by_id: data.invitedById,
        created_at: new Date(data.invitedAt),
        expires_at: new Date(data.expiresAt),
      }),
    InvitationRevoked: ({ data }) => remove(invitations, { id: data.invitationId }),
    InvitationAccepted: ({ data }) => remove(invitations, { id: data.invitationId }),
    ProjectPurged: ({ data }) => remove(invitations, { parent_id: data.projectId }),
  },
});

export function findInvitation(
  db: Knex,
  parentId: string,
  id: string,
): Promise<InvitationRow | undefined> {
  return db<InvitationRow>("invitation").where({ id, parent_id: parentId }).first();
}

export function findInvitationById(db: Knex, id: string): Promise<InvitationRow | undefined> {
  return db<InvitationRow>("invitation").where({ id }).first();
}

export async function listInvitations(
  db: Knex,
  parentId: string,
  part: Part,
): Promise<Slice<InvitationRow>> {
  const where = { parent_id: parentId };
  return oldestFirst<InvitationRow>(db, { table: "invitation", where, ...part });
}

/**
 * Open invitations that an event may have ended: those a user sent, or those to a project, team or
 * company and to what belongs to it. In order of id, those after the given one.
 */
export function invitationsConcerned(
  db: Knex,
  { inviterId, parentId }: Readonly<{ inviterId?: string; parentId?: string }>,
  { after, limit }: Readonly<{ after: string; limit: number }>,
): Promise<readonly InvitationRow[]> {
  const query = db<InvitationRow>("invitation").where("id", ">", after).orderBy("id").limit(limit);
  if (inviterId !== undefined) query.where("invited_by_id", inviterId);
  if (parentId !== undefined) {
    const teams = db("team").where("owner_id", parentId).select("id");
    const projects = db("project")
      .where((owned) => owned.where("owner_id", parentId).orWhereIn("owner_id", teams.clone()))
      .select("id");
    query.where((concerned) =>
      concerned
        .where("parent_id", parentId)
        .orWhereIn("parent_id", teams)
        .orWhereIn("parent_id", projects),
    );
  }
  return query;
}

/** Those to an address; so many are never open. */
export function invitationsTo(db: Knex, emailDigest: string): Promise<readonly InvitationRow[]> {
  return db<InvitationRow>("invitation").where({ email_digest: emailDigest }).limit(1_000);
}

export function invitationsExpired(
  db: Knex,
  before: Date,
  limit: number,
): Promise<readonly InvitationRow[]> {
  return db<InvitationRow>("invitation")
    .where("expires_at", "<=", before)
    .orderBy("expires_at")
    .limit(limit);
}
