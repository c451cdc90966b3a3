import type { Knex } from "knex";

import type { EventOf, Recorded } from "../../events/core/event.ts";
import { idInStream } from "../../events/core/stream.ts";
import {
  branchPrefix,
  notesPrefix,
  type RepositoryEvent,
  refAfter,
  repositoryEvents,
  tagPrefix,
} from "../../events/repository/repository.ts";
import { unreachable } from "../../platform/invariant.ts";
import { allOf } from "../../platform/postgres/pipelined.ts";
import { type ColumnTypes, insertStatement } from "../core/insert-columns.ts";
import { defineProjection, type Tx } from "../core/projection.ts";
import { dropRows, purgeEvents } from "../core/purge.ts";

export type GitRefRow = Readonly<{
  project_id: string;
  /** Full name. */
  ref: string;
  kind: "branch" | "tag" | "notes";
  /** What follows `refs/heads/`, `refs/tags/` or `refs/notes/`. */
  name: string;
  object_id: string;
  /** Null for a tag of a tree or a blob. */
  commit_id: string | null;
  light_weight: boolean;
  created_at: Date;
  updated_at: Date;
}>;

/** One change of one ref: the reflog of the service. */
export type GitRefChangeRow = Readonly<{
  project_id: string;
  /** Within the repository's stream. */
  revision: bigint;
  ref: string;
  before: string | null;
  after: string | null;
  forced: boolean;
  /** Command that made it; the same for all refs of one push. */
  push_id: string;
  changed_by_id: string | null;
  changed_at: Date;
}>;

export type GitRepositoryRow = Readonly<{
  project_id: string;
  /** Of the last event of the repository's stream that these tables show. */
  revision: bigint;
  changed_at: Date;
}>;

type Stored<Type extends RepositoryEvent["type"]> = Recorded<
  Extract<RepositoryEvent, { type: Type }>
>;

async function create(tx: Tx): Promise<void> {
  await tx.schema.createTable("git_ref", (table) => {
    table.uuid("project_id").notNullable();
    table.specificType("ref", 'text collate "C"').notNullable();
    table.text("kind").notNullable();
    table.specificType("name", 'text collate "C"').notNullable();
    table.text("object_id").notNullable();
    table.text("commit_id");
    table.boolean("light_weight").notNullable();
    table.timestamp("created_at").notNullable();
    table.timestamp("updated_at").notNullable();
    table.primary(["project_id", "ref"]);
  });
  await tx.schema.createTable("git_ref_change", (table) => {
    table.uuid("project_id").notNullable();
    table.bigInteger("revision").notNullable();
    table.text("ref").notNullable();
    table.text("before");
    table.text("after");
    table.boolean("forced").notNullable();
    table.uuid("push_id").notNullable();
    table.uuid("changed_by_id");
    table.timestamp("changed_at").notNullable();
    table.primary(["project_id", "revision"]);
  });
  await tx.schema.createTable("git_repository", (table) => {
    table.uuid("project_id").primary();
    table.bigInteger("revision").notNullable();
    table.timestamp("changed_at").notNullable();
  });
}

async function index(tx: Tx): Promise<void> {
  await tx.schema.alterTable("git_ref", (table) => {
    table.index(["project_id", "kind", "name"]);
    table.index(["project_id", "commit_id"]);
  });
  await tx.schema.alterTable("git_ref_change", (table) => {
    table.index(["project_id", "push_id"]);
  });
}

export const gitRefProjection = defineProjection({
  name: "git_ref",
  version: 2,
  tables: ["git_ref", "git_ref_change", "git_repository"],
  create,
  index,
  events: { ...repositoryEvents, ...purgeEvents },
  handlers: {
    ProjectPurged: purge,
    BranchCreated: recordOne,
    BranchUpdated: recordOne,
    BranchDeleted: recordOne,
    TagCreated: recordOne,
    TagUpdated: recordOne,
    TagDeleted: recordOne,
    NotesChanged: recordOne,
  },
  // Pushes are most of the log: a statement for each would make a rebuild many times longer.
  applyAll: async (tx, events) => {
    const pushed: Recorded<RepositoryEvent>[] = [];
    for (const event of events) {
      if (event.type !== "ProjectPurged") {
        pushed.push(event);
        continue;
      }
      await record(tx, pushed.splice(0));
      await purge(tx, event);
    }
    await record(tx, pushed);
  },
  statements: async (db, events) => {
    const pushed = events.filter((event) => event.type !== "ProjectPurged");
    return pushed.length === events.length ? recording(db, pushed) : undefined;
  },
});

function purge(tx: Tx, { data }: Recorded<EventOf<typeof purgeEvents>>): Promise<void> {
  return dropRows(tx, data.projectId, {
    git_ref: "project_id",
    git_ref_change: "project_id",
    git_repository: "project_id",
  });
}

type Events = readonly Recorded<RepositoryEvent>[];
type Target = Pick<GitRefRow, "commit_id" | "light_weight">;
type RefMove = Readonly<{ points: Target | null; before: string | null; forced: boolean }>;

/** What an event says beside the ref and where it leaves it. */
function moveOf(event: Recorded<RepositoryEvent>): RefMove {
  switch (event.type) {
    case "BranchCreated": {
      const points = { commit_id: event.data.commitId, light_weight: true };
      return { points, before: null, forced: false };
    }
    case "BranchUpdated": {
      const { before, after, forced } = event.data;
      return { points: { commit_id: after, light_weight: true }, before, forced };
    }
    case "BranchDeleted":
      return { points: null, before: event.data.commitId, forced: false };
    case "TagCreated":
      return { points: target(event), before: null, forced: false };
    case "TagUpdated":
      return { points: target(event), before: event.data.before, forced: true };
    case "TagDeleted":
      return { points: null, before: event.data.objectId, forced: false };
    case "NotesChanged": {
      const { before, after } = event.data;
      const points = after === null ? null : { commit_id: after, light_weight: true };
      return { points, before, forced: false };
    }
    default:
      return unreachable(event);
  }
}

const target = ({ data }: Stored<"TagCreated"> | Stored<"TagUpdated">): Target => ({
  commit_id: data.commitId,
  light_weight: data.lightWeight,
});

function recordOne(tx: Tx, event: Recorded<RepositoryEvent>): Promise<void> {
  return record(tx, [event]);
}

/** Where a ref stands after some events. */
type Ref = Readonly<{
  project_id: string;
  ref: string;
  row: GitRefRow | undefined;
  /** It was gone at one time, and what is stored of it is of another ref by its name. */
  deleted: boolean;
}>;

const changeColumns: ColumnTypes<GitRefChangeRow> = {
  project_id: "uuid",
  revision: "bigint",
  ref: "text",
  before: "text",
  after: "text",
  forced: "boolean",
  push_id: "uuid",
  changed_by_id: "uuid",
  changed_at: "timestamptz",
};

/** Every change of a ref is kept, and of each ref and repository the last state. */
async function record(tx: Tx, events: Events): Promise<void> {
  if (events.length === 0) return;
  await allOf(recording(tx, events));
}

function recording(db: Knex, events: Events): readonly (Knex.Raw | Knex.QueryBuilder)[] {
  const refs = new Map<string, Ref>();
  const repositories = new Map<string, GitRepositoryRow>();
  for (const event of events) {
    const project_id = idInStream(event.stream);
    const key = `${project_id} ${refAfter(event).ref}`;
    refs.set(key, refSince(refs.get(key), event));
    const changed_at = new Date(event.data.changedAt);
    repositories.set(project_id, { project_id, revision: event.revision, changed_at });
  }
  const changes = { table: "git_ref_change", types: changeColumns, rows: events.map(changeRow) };
  return [
    ...savedRefs(db, [...refs.values()]),
    insertStatement(db, { ...changes, onConflict: "(project_id, revision) do nothing" }),
    db("git_repository")
      .insert([...repositories.values()])
      .onConflict("project_id")
      .merge(),
  ];
}

function refSince(known: Ref | undefined, event: Recorded<RepositoryEvent>): Ref {
  const project_id = idInStream(event.stream);
  const { ref, objectId } = refAfter(event);
  const { points } = moveOf(event);
  if (objectId === null || points === null) {
    return { project_id, ref, row: undefined, deleted: true };
  }
  const at = new Date(event.data.changedAt);
  const times = { created_at: known?.row?.created_at ?? at, updated_at: at };
  const row = { project_id, ref, ...named(ref), object_id: objectId, ...points, ...times };
  return { project_id, ref, row, deleted: known?.deleted ?? false };
}

function* savedRefs(db: Knex, refs: readonly Ref[]): Generator<Knex.QueryBuilder> {
  const gone = refs.filter(({ deleted }) => deleted);
  const keys = gone.map(({ project_id, ref }) => [project_id, ref]);
  if (keys.length > 0) yield db("git_ref").whereIn(["project_id", "ref"], keys).delete();
  const rows = refs.flatMap(({ row }) => row ?? []);
  // Not created_at: that is of the first.
  const changed = ["kind", "name", "object_id", "commit_id", "light_weight", "updated_at"];
  if (rows.length > 0)
    yield db("git_ref").insert(rows).onConflict(["project_id", "ref"]).merge(changed);
}

function changeRow(event: Recorded<RepositoryEvent>): GitRefChangeRow {
  const { ref, objectId } = refAfter(event);
  const { before, forced } = moveOf(event);
  return {
    project_id: idInStream(event.stream),
    revision: event.revision,
    ref,
    before,
    after: objectId,
    forced,
    push_id: event.metadata.commandId,
    changed_by_id: event.data.changedById,
    changed_at: new Date(event.data.changedAt),
  };
}

function named(ref: string): Pick<GitRefRow, "kind" | "name"> {
  if (ref.startsWith(branchPrefix)) return { kind: "branch", name: ref.slice(branchPrefix.length) };
  if (ref.startsWith(notesPrefix)) return { kind: "notes", name: ref.slice(notesPrefix.length) };
  return { kind: "tag", name: ref.slice(tagPrefix.length) };
}

export async function findRef(
  db: Knex,
  projectId: string,
  kind: GitRefRow["kind"],
  name: string,
): Promise<GitRefRow | undefined> {
  return db<GitRefRow>("git_ref").where({ project_id: projectId, kind, name }).first();
}

/** Refs of one kind by name, and how many there are in all. */
export async function listRefs(
  db: Knex,
  projectId: string,
  kind: GitRefRow["kind"],
  page: Readonly<{ size: number; offset: number }>,
): Promise<Readonly<{ rows: readonly GitRefRow[]; total: number }>> {
  const rows = await db<GitRefRow>("git_ref")
    .where({ project_id: projectId, kind })
    .orderBy("name")
    .limit(page.size)
    .offset(page.offset);
  const counted = await db("git_ref")
    .where({ project_id: projectId, kind })
    .count<{ count: bigint }[]>("* as count");
  return { rows, total: Number(counted[0]?.count ?? 0n) };
}

/** Names of the branches that stand at one of the commits. */
export async function branchesAt(
  db: Knex,
  projectId: string,
  commitIds: readonly string[],
): Promise<readonly Pick<GitRefRow, "name" | "commit_id">[]> {
  if (commitIds.length === 0) return [];
  return db<GitRefRow>("git_ref")
    .where({ project_id: projectId, kind: "branch" })
    .whereIn("commit_id", commitIds)
    .orderBy("name")
    .select("name", "commit_id");
}

export type RecordedRefs = Readonly<{
  /** Full ref name → object id. */
  refs: ReadonlyMap<string, string>;
  /** Of the last event these show, or of an earlier one; undefined before the first. */
  revision: bigint | undefined;
}>;

/**
 * Refs as of some event of the repository's stream: one look, so that the revision is theirs. Applying
 * the events after it in order gives the present, as an event names the whole state of its ref.
 */
export async function recordedRefs(
  db: Knex,
  projectId: string,
  names: readonly string[] | undefined,
): Promise<RecordedRefs> {
  const { rows } = await db.raw<{ rows: readonly RecordedRow[] }>(
    `select r.revision, f.ref, f.object_id from (select ?::uuid as id) as project
     left join git_repository as r on r.project_id = project.id
     left join git_ref as f on f.project_id = project.id
       ${names === undefined ? "" : "and f.ref = any(?)"}`,
    names === undefined ? [projectId] : [projectId, [...names]],
  );
  const refs = new Map<string, string>();
  for (const { ref, object_id } of rows) if (ref !== null) refs.set(ref, object_id);
  return { refs, revision: rows[0]?.revision ?? undefined };
}

/** Without a ref when the project has none of the requested ones. */
type RecordedRow = Readonly<{ revision: bigint | null }> &
  (Readonly<{ ref: string; object_id: string }> | Readonly<{ ref: null; object_id: null }>);

/** Which ref changes of the pushes are in the read model. */
export async function pushesShown(
  db: Knex,
  projectId: string,
  pushIds: readonly string[],
): Promise<readonly Readonly<{ pushId: string; ref: string }>[]> {
  if (pushIds.length === 0) return [];
  const rows = await db<GitRefChangeRow>("git_ref_change")
    .where({ project_id: projectId })
    .whereRaw("push_id = any(?)", [[...pushIds]])
    .select("push_id", "ref");
  return rows.map(({ push_id, ref }) => ({ pushId: push_id, ref }));
}

/** Of the last change of a repository that these tables show. */
export async function shownRevision(db: Knex, projectId: string): Promise<bigint | undefined> {
  const where = { project_id: projectId };
  return (await db<GitRepositoryRow>("git_repository").where(where).first("revision"))?.revision;
}

/** The user who last moved a ref to a commit; null when unknown. */
export async function whoMovedRef(
  db: Knex,
  projectId: string,
  ref: string,
  after: string,
): Promise<string | null> {
  const change = await db<GitRefChangeRow>("git_ref_change")
    .where({ project_id: projectId, ref, after })
    .orderBy("revision", "desc")
    .first("changed_by_id");
  return change?.changed_by_id ?? null;
}

/** Where a ref pointed when it was deleted the last time; undefined when it never was. */
export async function headBeforeDeletion(
  db: Knex,
  projectId: string,
  ref: string,
): Promise<string | undefined> {
  const change = await db<GitRefChangeRow>("git_ref_change")
    .where({ project_id: projectId, ref, after: null })
    .orderBy("revision", "desc")
    .first("before");
  return change?.before ?? undefined;
}
