import type { Knex } from "knex";
import type { ParentType, Role } from "../../events/core/role.ts";
import { idInStream } from "../../events/core/stream.ts";
import { invitationEvents } from "../../events/user/invitation.ts";
import { oldestFirst, type Part } from "../core/list-rows.ts";
import { defineProjection } from "../core/projection.ts";
import { dropRows, purgeEvents } from "../core/purge.ts";
import type { Slice } from "./user.ts";

/** Open ones; those that ended leave nothing. */
export type InvitationRow = Readonly<{
  id: string;
  /** Of its stream. */
  place_id: string;
  parent_id: string;
  parent_type: ParentType;
  role: Role;
  /** Sealed: opened for requests of an ADMIN of the place. */
  email: string;
  email_digest: string;
  invited_by_id: string;
  created_at: Date;
  expires_at: Date;
}>;

export const invitationProjection = defineProjection({
  name: "invitation",
  version: 3,
  tables: ["invitation"],
  async create(tx) {
    await tx.schema.createTable("invitation", (table) => {
      table.uuid("id").primary();
      table.uuid("place_id").notNullable();
      table.uuid("parent_id").notNullable();
      table.text("parent_type").notNullable();
      table.text("role").notNullable();
      table.text("email").notNullable();
      table.text("email_digest").notNullable().index();
      table.uuid("invited_by_id").notNullable().index();
      table.timestamp("created_at").notNullable();
      table.timestamp("expires_at").notNullable().index();
      table.index(["parent_id", "created_at", "id"]);
    });
  },
  events: { ...invitationEvents, ...purgeEvents },
  handlers: {
    ProjectPurged: (tx, { data }) => dropRows(tx, data.projectId, { invitation: "parent_id" }),
    InvitationMade: async (tx, { stream, data }) => {
      const row = {
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
      };
      await tx<InvitationRow>("invitation").insert(row).onConflict("id").merge();
    },
    InvitationRevoked: async (tx, { data }) => {
      await tx<InvitationRow>("invitation").where({ id: data.invitationId }).delete();
    },
    InvitationAccepted: async (tx, { data }) => {
      await tx<InvitationRow>("invitation").where({ id: data.invitationId }).delete();
    },
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
