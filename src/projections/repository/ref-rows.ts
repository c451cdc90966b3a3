import type { Knex } from "knex";

import type { Recorded } from "../../events/core/event.ts";
import { idInStream } from "../../events/core/stream.ts";
import {
  branchPrefix,
  notesPrefix,
  type RepositoryEvent,
  refAfter,
  tagPrefix,
} from "../../events/repository/repository.ts";
import { unreachable } from "../../platform/invariant.ts";
import { type ColumnTypes, insertStatement, merging } from "../core/insert-columns.ts";

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

/** Where a ref stands after some events. */
type Ref = Readonly<{
  last: GitRefChangeRow;
  /** Null for one that is gone. */
  points: Target | null;
  created_at: Date;
  /** It was gone at one time, and what is stored of it is of another ref by its name. */
  deleted: boolean;
}>;

const refColumns: ColumnTypes<GitRefRow> = {
  project_id: "uuid",
  ref: "text",
  kind: "text",
  name: "text",
  object_id: "text",
  commit_id: "text",
  light_weight: "boolean",
  created_at: "timestamptz",
  updated_at: "timestamptz",
};

const repositoryColumns: ColumnTypes<GitRepositoryRow> = {
  project_id: "uuid",
  revision: "bigint",
  changed_at: "timestamptz",
};

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

const known = "(project_id, revision) do nothing";
/** Not created_at: that is of the first. */
const moved = `(project_id, ref) do update set ${[
  "kind",
  "name",
  "object_id",
  "commit_id",
  "light_weight",
  "updated_at",
]
  .map((column) => `${column} = excluded.${column}`)
  .join(", ")}`;

/** Every change of a ref is kept, and of each ref and repository the last state. */
export function refStatements(
  db: Knex,
  events: Events,
  isBuild = false,
): readonly (Knex.Raw | Knex.QueryBuilder)[] {
  const refs = new Map<string, Ref>();
  const repositories = new Map<string, GitRepositoryRow>();
  const rows = events.map((event) => {
    const move = moveOf(event);
    const change = changeRow(event, move);
    const { project_id, ref, revision, changed_at } = change;
    const key = `${project_id} ${ref}`;
    refs.set(key, refSince(refs.get(key), change, move.points));
    repositories.set(project_id, { project_id, revision, changed_at });
    return change;
  });
  const changes = { table: "git_ref_change", types: changeColumns, rows };
  return [
    ...savedRefs(db, [...refs.values()]),
    insertStatement(db, { ...changes, onConflict: isBuild ? undefined : known }),
    insertStatement(db, {
      table: "git_repository",
      types: repositoryColumns,
      rows: [...repositories.values()],
      onConflict: merging(repositoryColumns, ["project_id"]),
    }),
  ];
}

function refSince(known: Ref | undefined, last: GitRefChangeRow, points: Target | null): Ref {
  const created_at = known?.points ? known.created_at : last.changed_at;
  return { last, points, created_at, deleted: points === null || (known?.deleted ?? false) };
}

function* savedRefs(db: Knex, refs: readonly Ref[]): Generator<Knex.Raw | Knex.QueryBuilder> {
  const gone = refs.filter(({ deleted }) => deleted);
  const keys = gone.map(({ last }) => [last.project_id, last.ref]);
  if (keys.length > 0) yield db("git_ref").whereIn(["project_id", "ref"], keys).delete();
  const rows = refs.flatMap((ref) => refRow(ref) ?? []);
  if (rows.length === 0) return;
  yield insertStatement(db, { table: "git_ref", types: refColumns, rows, onConflict: moved });
}

function refRow({ last, points, created_at }: Ref): GitRefRow | undefined {
  const { project_id, ref, after, changed_at } = last;
  if (points === null || after === null) return undefined;
  const times = { created_at, updated_at: changed_at };
  return { project_id, ref, ...named(ref), object_id: after, ...points, ...times };
}

function changeRow(event: Recorded<RepositoryEvent>, { before, forced }: RefMove): GitRefChangeRow {
  const { ref, objectId } = refAfter(event);
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
