import type { Knex } from "knex";

import { repositoryEvents } from "../../events/repository/repository.ts";
import { purgedFrom, purgeEvents } from "../core/purge.ts";
import { defineReadModel } from "../core/read-model.ts";
import {
  type GitRefChangeRow,
  type GitRefRow,
  type GitRepositoryRow,
  refChanges,
  refMoved,
  refs,
  repositories,
} from "./ref-rows.ts";

export const gitRefProjection = defineReadModel({
  name: "git_ref",
  version: 4,
  tables: [refs, refChanges, repositories],
  events: { ...repositoryEvents, ...purgeEvents },
  effects: {
    BranchCreated: refMoved,
    BranchUpdated: refMoved,
    BranchDeleted: refMoved,
    TagCreated: refMoved,
    TagUpdated: refMoved,
    TagDeleted: refMoved,
    NotesChanged: refMoved,
    ProjectPurged: purgedFrom(refs, refChanges, repositories),
  },
});

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
export async function appliedPushes(
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
export async function appliedRevision(db: Knex, projectId: string): Promise<bigint | undefined> {
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

type BeforePush = Readonly<{ pushId: string } & ({ revision: bigint } | { at: Date })>;

/**
 * Where a ref pointed before a push, of this repository or, by time, of another one; null where there was none,
 * undefined when it is not known. Changes of the same push do not count.
 */
export async function headBeforePush(
  db: Knex,
  projectId: string,
  ref: string,
  push: BeforePush,
): Promise<string | null | undefined> {
  const query = db<GitRefChangeRow>("git_ref_change")
    .where({ project_id: projectId, ref })
    .whereNot("push_id", push.pushId)
    .orderBy("revision", "desc");
  if ("revision" in push) query.where("revision", "<", push.revision);
  else query.where("changed_at", "<=", push.at);
  return (await query.first("after"))?.after;
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
