import type { Knex } from "knex";

import { normaliseAlias, type ProjectId } from "../../events/core/ids.ts";
import { idInStream } from "../../events/core/stream.ts";
import { type MirrorType, mirrorEvents } from "../../events/project/mirror.ts";
import { type OwnerType, projectEvents } from "../../events/project/project.ts";
import { announce, type Change, change, put, remove, type Values } from "../core/change.ts";
import { defineReadModel, nothing } from "../core/read-model.ts";
import { column, defineTable, type RowOf } from "../core/table.ts";
import { partPattern } from "../list/folded.ts";
import { countByVisibility, countPublic, publicIndex } from "../list/public-rows.ts";
import { counted, countedNear } from "../list/total.ts";
import { owners } from "../team/owner.ts";

/** As queries give it: with its owner of today. */
export type ProjectRow = StoredProject &
  Readonly<{
    owner_alias: string;
    /** The person it belongs to in the end, through a team and a company if there are. */
    owner_user_id: string;
    owner_company_id: string | null;
    /** Of its repository, when it was measured last. */
    size_bytes: bigint;
  }>;

const visibility = countByVisibility("project");

const stored = defineTable({
  name: "project",
  columns: {
    id: column<ProjectId>("uuid"),
    owner_id: "uuid",
    owner_type: column<OwnerType>("text"),
    alias: "text",
    alias_normalised: "text",
    title: "text",
    description: "text null",
    language: "text null",
    is_private: "boolean",
    default_branch: "text",
    topics: "text[]",
    site_url: "text null",
    forked_from_id: column<ProjectId | null>("uuid null"),
    /** How large its repository may be; null: as large as any. */
    allowed_bytes: "bigint null",
    /** The three are null together. */
    mirror_id: "uuid null",
    mirror_type: column<MirrorType | null>("text null"),
    mirror_url: "text null",
    created_at: "timestamptz",
    deleted_at: "timestamptz null",
  },
  key: ["id"],
  lateIndexes: [
    "(alias_normalised, owner_id)",
    "(owner_id, created_at, id)",
    "(forked_from_id, created_at, id)",
    "(deleted_at) where deleted_at is not null",
    // Of the list that everybody sees.
    publicIndex,
    "using gin (public.folded(title) gin_trgm_ops) with (fastupdate = off)",
  ],
  counts: [visibility],
});

type StoredProject = RowOf<typeof stored>;

export const projectProjection = defineReadModel({
  name: "project",
  announces: "access",
  version: 7,
  tables: [stored, visibility.table],
  events: { ...projectEvents, ...mirrorEvents },
  effects: {
    ProjectCreated: ({ data }) =>
      put(stored, {
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
        topics: [],
        site_url: null,
        forked_from_id: data.forkedFromId ?? null,
        allowed_bytes: null,
        ...noMirror,
        created_at: new Date(data.createdAt),
        deleted_at: null,
      }),
    ProjectDefaultBranchChanged: ({ stream, data }) =>
      changed(stream, { default_branch: data.branch }),
    ProjectDetailsChanged: ({ stream, data: { details } }) => {
      const { title, description, language, topics, siteUrl } = details;
      return changed(stream, { title, description, language, topics, site_url: siteUrl });
    },
    ProjectVisibilityChanged: ({ stream, data }) => changed(stream, { is_private: data.private }),
    ProjectAliasChanged: ({ stream, data: { alias } }) =>
      changed(stream, { alias, alias_normalised: normaliseAlias(alias) }),
    ProjectTransferred: ({ stream, data }) => [
      changed(stream, { owner_id: data.ownerId, owner_type: data.ownerType }),
      // Its jobs are for the agents of another owner.
      announce("jobs"),
    ],
    ProjectDeleted: ({ stream, data }) => changed(stream, { deleted_at: new Date(data.deletedAt) }),
    ProjectRestored: ({ stream }) => [changed(stream, { deleted_at: null }), announce("jobs")],
    ProjectPurged: ({ data }) => remove(stored, { id: data.projectId }),
    ProjectQuotaChanged: ({ stream, data: { allowedBytes } }) =>
      changed(stream, { allowed_bytes: allowedBytes === null ? null : BigInt(allowedBytes) }),
    MirrorConfigured: ({ data: { projectId: id, mirrorId: mirror_id, target } }) => [
      change(stored, { id }, { mirror_id, mirror_type: target.type, mirror_url: target.url }),
      // The refs of a mirror are protected: its jobs are for protected agents as well.
      announce("jobs"),
    ],
    MirrorRemoved: ({ data: { projectId: id } }) => change(stored, { id }, noMirror),
    MirrorSyncRequested: nothing,
    MirrorFailed: nothing,
    MirrorRecovered: nothing,
  },
});

const noMirror = { mirror_id: null, mirror_type: null, mirror_url: null } as const;

const changed = (stream: string, columns: Values<StoredProject>): Change =>
  change(stored, { id: idInStream(stream) as ProjectId }, columns);

const withOwner = (db: Knex) =>
  db<ProjectRow>("project")
    .join(db.raw(owners), "owner.id", "project.owner_id")
    .leftJoin("repository_size", "repository_size.project_id", "project.id")
    .select(
      "project.*",
      db.raw("coalesce(repository_size.bytes, 0) as size_bytes"),
      "owner.alias as owner_alias",
      "owner.user_id as owner_user_id",
      "owner.company_id as owner_company_id",
    );

/** Those that were not deleted, for every reader but one. */
const projects = (db: Knex) => withOwner(db).whereNull("project.deleted_at");

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

/**
 * Whether a project that this one was forked from, directly or through other forks, is private. Deleted
 * ones count until they are purged.
 */
export async function isForkOfPrivate(
  db: Knex,
  { forked_from_id }: Pick<ProjectRow, "forked_from_id">,
): Promise<boolean> {
  if (forked_from_id === null) return false;
  const origins = db("project")
    .where({ id: forked_from_id })
    .select("id", "forked_from_id", "is_private")
    // Not "all": a chain is finite, and no row is read twice.
    .union((more) =>
      more
        .from("project")
        .join("origin", "origin.forked_from_id", "project.id")
        .select("project.id", "project.forked_from_id", "project.is_private"),
    );
  const found = await db
    .withRecursive("origin", origins)
    .from("origin")
    .where("is_private", true)
    .first("id");
  return found !== undefined;
}

/** A deleted project that can still be restored. */
export function findDeletedProject(db: Knex, id: string): Promise<ProjectRow | undefined> {
  return withOwner(db).whereNotNull("project.deleted_at").where("project.id", id).first();
}

/** Some that were deleted before a time, for who makes an end of them. */
export async function projectsDeletedBefore(
  db: Knex,
  before: Date,
  countMax: number,
): Promise<readonly string[]> {
  const rows = await db<StoredProject>("project")
    .where("deleted_at", "<", before)
    .orderBy("deleted_at")
    .limit(countMax)
    .select("id");
  return rows.map(({ id }) => id);
}

export type ProjectFilter = Readonly<{
  /** Only this owner's. */
  ownerId?: string;
  /** Only what belongs to this user in the end. */
  mine?: string;
  /** Only what this user has a role in without owning it. */
  sharedWith?: string;
  /** Only forks of this project. */
  forkedFrom?: string;
  /** Only what everybody may see. */
  publicOnly?: boolean;
  /** Part of the title, in any case. */
  title?: string | undefined;
  limit: number;
  offset: number;
}>;

export async function listProjects(
  db: Knex,
  { limit, offset, ...filter }: ProjectFilter,
): Promise<Readonly<{ rows: readonly ProjectRow[]; total: number }>> {
  const slice = { limit, offset };
  const narrow = (query: Knex.QueryBuilder) => narrowed(db, query, filter);
  const matching = () => db("project").whereNull("project.deleted_at").modify(narrow);
  if (filter.title !== undefined) {
    const few = await fewOf(db, matching());
    if (few !== undefined) return { rows: await theseOf(db, few, slice), total: few.length };
  }
  const filters = Object.values(filter).filter((value) => value !== undefined);
  const everything = filter.publicOnly === true && filters.length === 1;
  const totalOf = (): Promise<number> => {
    if (everything) return countPublic(db, "project");
    return filter.title === undefined ? counted(matching()) : countedNear(db, matching(), slice);
  };
  const [rows, total] = await Promise.all([inOrder(projects(db).modify(narrow), slice), totalOf()]);
  return { rows, total };
}

type Page = Pick<ProjectFilter, "limit" | "offset">;

const order = ["project.created_at", "project.id"];

const inOrder = (query: Knex.QueryBuilder, { limit, offset }: Page) =>
  query.orderBy(order).limit(limit).offset(offset) as Promise<readonly ProjectRow[]>;

/**
 * Up to so many found by their titles are all read and sorted. Of more, the first of the order are
 * soon met on the way through all projects; few could be met nowhere on it.
 */
const fewMax = 200;

/** Ids of what is found, in the order of lists; undefined when they are not few. */
async function fewOf(db: Knex, found: Knex.QueryBuilder): Promise<readonly string[] | undefined> {
  const some = found.select("project.id", "project.created_at").limit(fewMax + 1);
  const rows: readonly Readonly<{ id: string }>[] = await db
    .from(some.as("found"))
    .orderBy(["created_at", "id"])
    .select("id");
  return rows.length > fewMax ? undefined : rows.map(({ id }) => id);
}

async function theseOf(
  db: Knex,
  ids: readonly string[],
  { limit, offset }: Page,
): Promise<readonly ProjectRow[]> {
  const page = ids.slice(offset, offset + limit);
  if (page.length === 0) return [];
  return withOwner(db).whereIn("project.id", page).orderBy(order);
}

function narrowed(
  db: Knex,
  query: Knex.QueryBuilder,
  {
    ownerId,
    mine,
    sharedWith,
    forkedFrom,
    publicOnly,
    title,
  }: Omit<ProjectFilter, "limit" | "offset">,
): void {
  if (ownerId !== undefined) query.where("project.owner_id", ownerId);
  if (mine !== undefined) query.whereIn("project.owner_id", ownersOf(db, mine));
  if (sharedWith !== undefined) {
    query
      .whereIn("project.id", sharedProjects(db, sharedWith))
      .whereNotIn("project.owner_id", ownersOf(db, sharedWith));
  }
  if (forkedFrom !== undefined) query.where("project.forked_from_id", forkedFrom);
  if (publicOnly === true) query.where("project.is_private", false);
  if (title !== undefined) {
    query.whereRaw("public.folded(project.title) ~ ?", [partPattern(title)]);
  }
}

/** The user, and the teams and companies that belong to the user in the end. */
export function ownersOf(db: Knex, userId: string): Knex.QueryBuilder {
  const companies = () => db("company").where("owner_id", userId).select("id");
  return companies().unionAll([
    db("team").where("owner_id", userId).select("id"),
    db("team").whereIn("owner_id", companies()).select("id"),
    db.raw("select ?::uuid", [userId]),
  ]);
}

/** Ids of projects that membership in them, their team or their company reaches; each index once. */
export function sharedProjects(db: Knex, userId: string): Knex.QueryBuilder {
  const parents = () => db("member").where("user_id", userId).select("parent_id");
  const teams = db("team").whereIn("owner_id", parents()).select("id");
  return parents().unionAll([
    db("project").whereIn("owner_id", parents()).select("id"),
    db("project").whereIn("owner_id", teams).select("id"),
  ]);
}

const idsAtOnce = 500;

/** Of all projects that were not deleted, a page in memory at a time. */
export async function* projectIds(db: Knex): AsyncGenerator<string> {
  let after = "00000000-0000-0000-0000-000000000000";
  for (;;) {
    const rows = await db("project")
      .where("id", ">", after)
      .whereNull("deleted_at")
      .orderBy("id")
      .limit(idsAtOnce)
      .select<{ id: string }[]>("id");
    for (const { id } of rows) yield id;
    const last = rows.at(-1);
    if (last === undefined) return;
    after = last.id;
  }
}

/** A page of all projects there are, deleted ones that can be restored among them, by id. */
export function everyProject(
  db: Knex,
  after: string | undefined,
  countMax: number,
): Promise<readonly ProjectRow[]> {
  const query = withOwner(db).orderBy("project.id").limit(countMax);
  return after === undefined ? query : query.where("project.id", ">", after);
}

/** Whether a project of any owner goes by this alias. */
export async function isProjectAlias(db: Knex, alias: string): Promise<boolean> {
  const row = await projects(db)
    .where("project.alias_normalised", normaliseAlias(alias))
    .first("project.id");
  return row !== undefined;
}
