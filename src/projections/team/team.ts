import type { Knex } from "knex";

import { normaliseAlias, type TeamId } from "../../events/core/ids.ts";
import { idInStream } from "../../events/core/stream.ts";
import { type TeamDetails, type TeamOwnerType, teamEvents } from "../../events/team/team.ts";
import { createPublicIndex, publicTotalOf } from "../core/public-rows.ts";
import { defineRowProjection } from "../core/row-projection.ts";
import { type Changes, tableOf, type Writes } from "../core/writes.ts";
import { type BelongingToUser, listOf } from "./alias-holder.ts";

type StoredTeam = Readonly<{
  id: TeamId;
  owner_id: string;
  owner_type: TeamOwnerType;
  alias: string;
  alias_normalised: string;
  title: string;
  description: string | null;
  is_private: boolean;
  avatar: string | null;
  created_at: Date;
  deleted_at: Date | null;
}>;

/** As queries give it. */
export type TeamRow = StoredTeam &
  Readonly<{
    owner_alias: string;
    /** The person it belongs to in the end: the owner, or the owner of the company that owns it. */
    owner_user_id: string;
    owner_company_id: string | null;
  }>;

const publicTotal = publicTotalOf("team");
const stored = tableOf<StoredTeam>({ name: "team", key: ["id"], total: publicTotal });

export const teamProjection = defineRowProjection({
  name: "team",
  announces: "access",
  version: 2,
  tables: ["team", publicTotal.table],
  async create(tx) {
    await tx.schema.createTable("team", (table) => {
      table.uuid("id").primary();
      table.uuid("owner_id").notNullable();
      table.text("owner_type").notNullable();
      table.text("alias").notNullable();
      table.text("alias_normalised").notNullable().index();
      table.text("title").notNullable();
      table.text("description");
      table.boolean("is_private").notNullable();
      table.text("avatar");
      table.timestamp("created_at").notNullable();
      table.timestamp("deleted_at");
      table.index(["owner_id", "created_at", "id"]);
    });
    await createPublicIndex(tx, "team");
    await publicTotal.create(tx);
  },
  events: teamEvents,
  handlers: {
    TeamCreated: (rows, { data }) => {
      const row = {
        id: data.teamId,
        owner_id: data.ownerId,
        owner_type: data.ownerType,
        alias: data.alias,
        alias_normalised: normaliseAlias(data.alias),
        ...columns(data.details),
        created_at: new Date(data.createdAt),
        deleted_at: null,
      };
      rows.put(stored, row);
    },
    TeamDetailsChanged: (rows, { stream, data }) => change(rows, stream, columns(data.details)),
    TeamAliasChanged: (rows, { stream, data: { alias } }) =>
      change(rows, stream, { alias, alias_normalised: normaliseAlias(alias) }),
    TeamTransferred: (rows, { stream, data }) => {
      change(rows, stream, { owner_id: data.ownerId, owner_type: data.ownerType });
      // The jobs of its projects are for the agents of another company.
      rows.announce("jobs");
    },
    TeamDeleted: (rows, { stream, data }) =>
      change(rows, stream, { deleted_at: new Date(data.deletedAt) }),
  },
});

const columns = ({ title, description, avatar, private: is_private }: TeamDetails) => ({
  title,
  description,
  avatar,
  is_private,
});

const change = (rows: Writes, stream: string, over: Changes<StoredTeam>): void =>
  rows.change(stored, { id: idInStream(stream) as TeamId }, over);

const teams = (db: Knex) =>
  db<TeamRow>("team")
    .leftJoin("app_user", "app_user.id", "team.owner_id")
    .leftJoin("company", "company.id", "team.owner_id")
    .whereNull("team.deleted_at")
    .select(
      "team.*",
      db.raw("coalesce(app_user.alias, company.alias) as owner_alias"),
      db.raw("coalesce(company.owner_id, team.owner_id) as owner_user_id"),
      "company.id as owner_company_id",
    );

export function findTeam(db: Knex, alias: string): Promise<TeamRow | undefined> {
  return teams(db).where("team.alias_normalised", normaliseAlias(alias)).first();
}

export function findTeamById(db: Knex, id: string): Promise<TeamRow | undefined> {
  return teams(db).where("team.id", id).first();
}

/** Those of the user's companies are the user's own, too. */
function narrow(db: Knex, query: Knex.QueryBuilder, { which, userId }: BelongingToUser): void {
  const owners = db("company")
    .where("owner_id", userId)
    .select("id")
    .unionAll([db.raw("select ?::uuid", [userId])]);
  if (which === "mine") {
    query.whereIn("team.owner_id", owners);
    return;
  }
  const parents = db("member").where("user_id", userId).select("parent_id");
  query
    .whereNotIn("team.owner_id", owners)
    .where((either) =>
      either.whereIn("team.id", parents).orWhereIn("team.owner_id", parents.clone()),
    );
}

export const listTeams = listOf<TeamRow>({ table: "team", publicTotal, query: teams, narrow });
