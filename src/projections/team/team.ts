import type { Knex } from "knex";

import { normaliseAlias, type TeamId } from "../../events/core/ids.ts";
import { idInStream } from "../../events/core/stream.ts";
import { type TeamDetails, type TeamOwnerType, teamEvents } from "../../events/team/team.ts";
import { announce, change, put } from "../core/change.ts";
import { defineReadModel } from "../core/read-model.ts";
import { column, defineTable, type RowOf } from "../core/table.ts";
import { countByVisibility, publicIndex } from "../list/public-rows.ts";
import { type BelongingToUser, listOf } from "./alias-holder.ts";

/** As queries give it. */
export type TeamRow = StoredTeam &
  Readonly<{
    owner_alias: string;
    /** The person it belongs to in the end: the owner, or the owner of the company that owns it. */
    owner_user_id: string;
    owner_company_id: string | null;
  }>;

const visibility = countByVisibility("team");

const stored = defineTable({
  name: "team",
  columns: {
    id: column<TeamId>("uuid"),
    owner_id: "uuid",
    owner_type: column<TeamOwnerType>("text"),
    alias: "text",
    alias_normalised: "text",
    title: "text",
    description: "text null",
    is_private: "boolean",
    avatar: "text null",
    created_at: "timestamptz",
    deleted_at: "timestamptz null",
  },
  key: ["id"],
  lateIndexes: ["(alias_normalised)", "(owner_id, created_at, id)", publicIndex],
  counts: [visibility],
});

type StoredTeam = RowOf<typeof stored>;

export const teamProjection = defineReadModel({
  name: "team",
  announces: "access",
  version: 3,
  tables: [stored, visibility.table],
  events: teamEvents,
  effects: {
    TeamCreated: ({ data }) =>
      put(stored, {
        id: data.teamId,
        owner_id: data.ownerId,
        owner_type: data.ownerType,
        alias: data.alias,
        alias_normalised: normaliseAlias(data.alias),
        ...columns(data.details),
        created_at: new Date(data.createdAt),
        deleted_at: null,
      }),
    TeamDetailsChanged: ({ stream, data }) => change(stored, idOf(stream), columns(data.details)),
    TeamAliasChanged: ({ stream, data: { alias } }) =>
      change(stored, idOf(stream), { alias, alias_normalised: normaliseAlias(alias) }),
    TeamTransferred: ({ stream, data }) => [
      change(stored, idOf(stream), { owner_id: data.ownerId, owner_type: data.ownerType }),
      // The jobs of its projects are for the agents of another company.
      announce("jobs"),
    ],
    TeamDeleted: ({ stream, data }) =>
      change(stored, idOf(stream), { deleted_at: new Date(data.deletedAt) }),
  },
});

const columns = ({ title, description, avatar, private: is_private }: TeamDetails) => ({
  title,
  description,
  avatar,
  is_private,
});

const idOf = (stream: string) => ({ id: idInStream(stream) as TeamId });

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

export const listTeams = listOf<TeamRow>({ table: "team", query: teams, narrow });
