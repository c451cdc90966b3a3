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
import { type Change, put, remove } from "../core/change.ts";
import { column, defineTable, type RowOf } from "../core/table.ts";

type Stored<Type extends RepositoryEvent["type"]> = Recorded<
  Extract<RepositoryEvent, { type: Type }>
>;

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

export const refs = defineTable({
  name: "git_ref",
  columns: {
    project_id: "uuid",
    /** Full name. */
    ref: 'text collate "C"',
    kind: column<"branch" | "tag" | "notes">("text"),
    /** What follows `refs/heads/`, `refs/tags/` or `refs/notes/`. */
    name: 'text collate "C"',
    object_id: "text",
    /** Null for a tag of a tree or a blob. */
    commit_id: "text null",
    light_weight: "boolean",
    created_at: "timestamptz",
    updated_at: "timestamptz",
  },
  key: ["project_id", "ref"],
  writtenOnce: ["created_at"],
  lateIndexes: ["(project_id, kind, name)", "(project_id, commit_id)"],
});

export type GitRefRow = RowOf<typeof refs>;

/** One change of one ref: the reflog of the service. */
export const refChanges = defineTable({
  name: "git_ref_change",
  columns: {
    project_id: "uuid",
    /** Within the repository's stream. */
    revision: "bigint",
    ref: "text",
    before: "text null",
    after: "text null",
    forced: "boolean",
    /** Command that made it; the same for all refs of one push. */
    push_id: "uuid",
    changed_by_id: "uuid null",
    changed_at: "timestamptz",
  },
  key: ["project_id", "revision"],
  lateIndexes: ["(project_id, push_id)", "(project_id, ref, revision)"],
});

export type GitRefChangeRow = RowOf<typeof refChanges>;

export const repositories = defineTable({
  name: "git_repository",
  columns: {
    project_id: "uuid",
    /** Of the last event of the repository's stream that these tables show. */
    revision: "bigint",
    changed_at: "timestamptz",
  },
  key: ["project_id"],
});

export type GitRepositoryRow = RowOf<typeof repositories>;

/** Every change of a ref is kept, and of each ref and repository the last state. */
export function refMoved(event: Recorded<RepositoryEvent>): readonly Change[] {
  const move = moveOf(event);
  const row = changeRow(event, move);
  const { project_id, ref, revision, after, changed_at } = row;
  const { points } = move;
  return [
    put(refChanges, row),
    put(repositories, { project_id, revision, changed_at }),
    points === null || after === null
      ? remove(refs, { project_id, ref })
      : put(refs, {
          ...{ project_id, ref, ...named(ref), object_id: after, ...points },
          ...{ created_at: changed_at, updated_at: changed_at },
        }),
  ];
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
