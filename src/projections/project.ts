import type { Knex } from "knex";

import { normaliseAlias, type ProjectId } from "../events/ids.ts";
import { type OwnerType, projectEvents } from "../events/project.ts";
import { idInStream } from "../events/stream.ts";
import { escapeLike } from "./like.ts";
import { owners } from "./owner.ts";
import { defineProjection } from "./projection.ts";

type StoredProject = Readonly<{
  id: ProjectId;
  owner_id: string;
  owner_type: OwnerType;
  alias: string;
  alias_normalised: string;
  title: string;
  description: string | null;
  language: string | null;
  is_private: boolean;
  default_branch: string;
  created_at: Date;
}>;

/** As queries give it: with its owner of today. */
export type ProjectRow = StoredProject &
  Readonly<{
    owner_alias: string;
    /** The person it belongs to in the end, through a team and a company if there are. */
    owner_user_id: string;
    owner_company_id: string | null;
  }>;

export const projectProjection = defineProjection({
  name: "project",
  version: 1,
  tables: ["project"],
  async create(tx) {
    await tx.schema.createTable("project", (table) => {
      table.uuid("id").primary();
      table.uuid("owner_id").notNullable();
      table.text("owner_type").notNullable();
      table.text("alias").notNullable();
      table.text("alias_normalised").notNullable();
      table.text("title").notNullable();
      table.text("description");
      table.text("language");
      table.boolean("is_private").notNullable();
      table.text("default_branch").notNullable();
      table.timestamp("created_at").notNullable();
      table.index(["alias_normalised", "owner_id"]);
      table.index(["owner_id", "created_at", "id"]);
    });
    await tx.raw(
      "create index project_public on project (created_at, id) where is_private = false",
    );
  },
  events: projectEvents,
  handlers: {
    ProjectCreated: async (tx, { data }) => {
      const row = {
        id: data.projectId,
        owner_id: data.ownerId,
        owner_type: data.ownerType,
        alias: data.alias,
        alias_normalised: normaliseAlias(data.alias),
        title: data.title,
        description: data.description,
        language: data.language,
        is_private: data.private,
        default_branch: data.defaultBranch,
        created_at: new Date(data.createdAt),
      };
      await tx<StoredProject>("project").insert(row).onConflict("id").merge();
    },
    ProjectDefaultBranchChanged: async (tx, { stream, data }) => {
      await tx<StoredProject>("project")
        .where("id", idInStream(stream))
        .update({ default_branch: data.branch });
    },
  },
});

const projects = (db: Knex) =>
  db<ProjectRow>("project")
    .join(db.raw(owners), "owner.id", "project.owner_id")
    .select(
      "project.*",
      "owner.alias as owner_alias",
      "owner.user_id as owner_user_id",
      "owner.company_id as owner_company_id",
    );

export function findProject(
  db: Knex,
  ownerAlias: string,
  alias: string,
): Promise<ProjectRow | undefined> {
  return projects(db)
    .where("owner.alias_normalised", normaliseAlias(ownerAlias))
    .where("project.alias_normalised", normaliseAlias(alias))
    .first();
}

export function findProjectById(db: Knex, id: string): Promise<ProjectRow | undefined> {
  return projects(db).where("project.id", id).first();
}

export type ProjectFilter = Readonly<{
  /** Only this owner's. */
  ownerId?: string;
  /** Only what everybody may see. */
  publicOnly?: boolean;
  /** Part of the title, in any case. */
  title?: string | undefined;
  limit: number;
  offset: number;
}>;

export async function listProjects(
  db: Knex,
  { ownerId, publicOnly, title, limit, offset }: ProjectFilter,
): Promise<Readonly<{ rows: readonly ProjectRow[]; total: number }>> {
  const narrow = (query: Knex.QueryBuilder) => {
    if (ownerId !== undefined) query.where("project.owner_id", ownerId);
    if (publicOnly === true) query.where("project.is_private", false);
    if (title !== undefined) query.whereILike("project.title", `%${escapeLike(title)}%`);
  };
  const [rows, counted] = await Promise.all([
    projects(db)
      .modify(narrow)
      .orderBy(["project.created_at", "project.id"])
      .limit(limit)
      .offset(offset),
    db("project").modify(narrow).count({ total: "*" }).first(),
  ]);
  return { rows, total: Number(counted?.["total"] ?? 0) };
}
