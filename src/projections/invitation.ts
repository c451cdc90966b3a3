import type { Knex } from "knex";

import { invitationEvents } from "../events/invitation.ts";
import type { ParentType, Role } from "../events/role.ts";
import { idInStream } from "../events/stream.ts";
import { oldestFirst, type Part } from "./oldest-first.ts";
import { defineProjection } from "./projection.ts";
import { dropRows, purgeEvents } from "./purge.ts";
import type { Slice } from "./user.ts";

/** Open ones; those that ended leave nothing. */
export type InvitationRow = Readonly<{
  id: string;
  /** Of its stream. */
  place_id: string;
  parent_id: string;
  parent_type: ParentType;
  role: Role;
  /** Sealed: opened when an ADMIN of the place asks. */
  email: string;
  email_digest: string;
  invited_by_id: string;
  created_at: Date;
  expires_at: Date;
}>;

export const invitationProjection = defineProjection({
  name: "invitation",
  version: 2,
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
      table.uuid("invited_by_id").notNullable();
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
