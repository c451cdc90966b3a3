import type { EventOf, Recorded } from "../../events/core/event.ts";
import type { ProjectId, UserId } from "../../events/core/ids.ts";
import { type LocalId, localIdEvents } from "../../events/core/local-id.ts";
import { idInStream } from "../../events/core/stream.ts";
import { type IssueId, type IssueStatus, issueEvents } from "../../events/issue/issue.ts";
import type { LabelId } from "../../events/label/label.ts";
import { defineProjection, type Tx } from "../core/projection.ts";
import { dropRows, purgeEvents, purgeRows } from "../core/purge.ts";
import { tableOf, Writes } from "../core/writes.ts";

export type IssueRow = Readonly<{
  id: IssueId;
  project_id: ProjectId;
  /** Null until the issue has a number; it is not shown before. */
  local_id: LocalId | null;
  title: string;
  description: string;
  status: IssueStatus;
  assignee_ids: readonly UserId[];
  /** Some of them may be of labels that were deleted. */
  label_ids: readonly LabelId[];
  author_id: UserId;
  updated_by_id: UserId;
  created_at: Date;
  updated_at: Date;
}>;

/** How many numbered issues a project has in a status: counting them would take longer the more there are. */
export type IssueTotalRow = Readonly<{
  project_id: ProjectId;
  status: IssueStatus;
  total: bigint;
}>;

async function create(tx: Tx): Promise<void> {
  await tx.schema.createTable("issue", (table) => {
    table.uuid("id").primary();
    table.uuid("project_id").notNullable();
    table.integer("local_id");
    table.text("title").notNullable();
    table.text("description").notNullable();
    table.text("status").notNullable();
    table.specificType("assignee_ids", "uuid[]").notNullable();
    table.specificType("label_ids", "uuid[]").notNullable();
    table.uuid("author_id").notNullable();
    table.uuid("updated_by_id").notNullable();
    table.timestamp("created_at").notNullable();
    table.timestamp("updated_at").notNullable();
    table.unique(["project_id", "local_id"]);
  });
  await tx.schema.createTable("issue_total", (table) => {
    table.uuid("project_id").notNullable();
    table.text("status").notNullable();
    table.bigInteger("total").notNullable();
    table.primary(["project_id", "status"]);
  });
}

async function index(tx: Tx): Promise<void> {
  await tx.schema.alterTable("issue", (table) => {
    // With the unique one every order of a list, alone and within a status.
    table.index(["project_id", "status", "local_id"]);
    table.index(["project_id", "updated_at", "local_id"]);
    table.index(["project_id", "status", "updated_at", "local_id"]);
    table.index(["project_id", "author_id", "local_id"]);
  });
  for (const column of ["assignee_ids", "label_ids"]) {
    await tx.raw("create index ?? on issue using gin (??) with (fastupdate = off)", [
      `issue_${column}`,
      column,
    ]);
  }
  for (const column of ["title", "description"]) {
    await tx.raw("create index ?? on issue using gin (?? gin_trgm_ops)", [
      `issue_${column}_part`,
      column,
    ]);
  }
  await tx.raw("create index issue_unnumbered on issue (created_at) where local_id is null");
}

const events = { ...issueEvents, ...localIdEvents, ...purgeEvents };
type Handled = Recorded<EventOf<typeof events>>;
type Change = Exclude<Handled, Readonly<{ type: "ProjectPurged" }>>;
type Assigned = Extract<Change, Readonly<{ type: "LocalIdAssigned" }>>["data"];

const issues = tableOf<IssueRow>({ name: "issue", key: ["id"] });

export const issueProjection = defineProjection({
  name: "issue",
  version: 1,
  tables: ["issue", "issue_total"],
  create,
  index,
  events,
  handlers: {
    ProjectPurged: purge,
    IssueCreated: recordOne,
    IssueEdited: recordOne,
    IssueClosedByCommit: recordOne,
    IssueClosingCommitFound: recordOne,
    IssueDeleted: recordOne,
    LocalIdAssigned: recordOne,
  },
  applyAll: async (tx, all) => {
    const changes: Change[] = [];
    for (const event of all) {
      if (event.type !== "ProjectPurged") {
        changes.push(event);
        continue;
      }
      await record(tx, changes.splice(0));
      await purge(tx, event);
    }
    await record(tx, changes);
  },
  statements: async (db, all) => {
    const rows = new Writes(db);
    for (const event of all) collect(rows, event);
    return rows.statements();
  },
});

const purged = { issue: "project_id", issue_total: "project_id" } as const;

function purge(tx: Tx, { data }: Recorded<EventOf<typeof purgeEvents>>): Promise<void> {
  return dropRows(tx, data.projectId, purged);
}

/** What `record` does, in statements that follow the rows by themselves. */
function collect(rows: Writes, event: Handled): void {
  switch (event.type) {
    case "ProjectPurged":
      purgeRows(rows, event.data.projectId, purged);
      return;
    case "IssueCreated":
      uncount(rows, event.data.issueId);
      rows.put(issues, createdRow(event.data));
      dropEmptyTotals(rows, event.data.projectId);
      return;
    case "LocalIdAssigned":
      if (event.data.kind === "ISSUE") number(rows, event.data);
      return;
    case "IssueDeleted": {
      const id = issueIdOf(event);
      uncount(rows, id);
      rows.remove(issues, { id });
      dropEmptyTotals(rows, event.data.projectId);
      return;
    }
    case "IssueClosingCommitFound":
      return;
    default: {
      const id = issueIdOf(event);
      const change = changeOf(event);
      if (change.status !== undefined) recount(rows, id, change.status);
      rows.change(issues, { id }, change);
      if (change.status !== undefined) dropEmptyTotals(rows, event.data.projectId);
    }
  }
}

function recordOne(tx: Tx, event: Change): Promise<void> {
  return record(tx, [event]);
}

type Rows = ReadonlyMap<string, IssueRow>;

/** Applies the events to the rows they concern and writes those rows at once. */
async function record(tx: Tx, changes: readonly Change[]): Promise<void> {
  const own = changes.filter(
    (event) => event.type !== "LocalIdAssigned" || event.data.kind === "ISSUE",
  );
  if (own.length === 0) return;
  const ids = [...new Set(own.map(issueIdOf))];
  const stored = await tx<IssueRow>("issue").whereRaw("id = any(?)", [ids]);
  const before: Rows = new Map(stored.map((row) => [row.id, row]));
  const after = new Map(before);
  for (const event of own) {
    const id = issueIdOf(event);
    const row = rowAfter(after.get(id), event);
    if (row === undefined) after.delete(id);
    else after.set(id, row);
  }
  const gone = [...before.keys()].filter((id) => !after.has(id));
  if (gone.length > 0) await tx("issue").whereRaw("id = any(?)", [gone]).delete();
  const rows = [...after.values()];
  if (rows.length > 0) await tx("issue").insert(rows).onConflict("id").merge();
  await moveTotals(tx, before, after);
}

const issueIdOf = (event: Change): IssueId =>
  (event.type === "LocalIdAssigned" ? event.data.subjectId : idInStream(event.stream)) as IssueId;

function rowAfter(row: IssueRow | undefined, event: Change): IssueRow | undefined {
  if (event.type === "IssueCreated") return createdRow(event.data);
  if (event.type === "IssueDeleted" || row === undefined) return undefined;
  switch (event.type) {
    case "LocalIdAssigned":
      return { ...row, local_id: event.data.localId };
    case "IssueClosingCommitFound":
      return row;
    default:
      return { ...row, ...changeOf(event) };
  }
}

type Changing = Extract<Change, Readonly<{ type: "IssueEdited" | "IssueClosedByCommit" }>>;

/** Columns that get another value. */
function changeOf(event: Changing): Partial<IssueRow> {
  if (event.type === "IssueClosedByCommit") {
    const { status, closedById, closedAt } = event.data;
    return { status, updated_by_id: closedById, updated_at: new Date(closedAt) };
  }
  const { details, editedById, editedAt } = event.data;
  const { title, description, status, assigneeIds, labelIds } = details;
  return {
    ...(title !== undefined && { title }),
    ...(description !== undefined && { description }),
    ...(status !== undefined && { status }),
    ...(assigneeIds !== undefined && { assignee_ids: assigneeIds }),
    ...(labelIds !== undefined && { label_ids: labelIds }),
    updated_by_id: editedById,
    updated_at: new Date(editedAt),
  };
}

function createdRow(data: Extract<Change, Readonly<{ type: "IssueCreated" }>>["data"]): IssueRow {
  const at = new Date(data.createdAt);
  return {
    id: data.issueId,
    project_id: data.projectId,
    local_id: null,
    title: data.title,
    description: data.description,
    status: data.status,
    assignee_ids: data.assigneeIds,
    label_ids: data.labelIds,
    author_id: data.createdById,
    updated_by_id: data.createdById,
    created_at: at,
    updated_at: at,
  };
}

/** Totals follow the rows themselves, so repeating events changes nothing. */
async function moveTotals(tx: Tx, before: Rows, after: Rows): Promise<void> {
  const moved = new Map<string, { project_id: ProjectId; status: IssueStatus; total: number }>();
  const count = (rows: Rows, by: 1 | -1): void => {
    for (const { project_id, status, local_id } of rows.values()) {
      if (local_id === null) continue;
      const key = `${project_id} ${status}`;
      const total = (moved.get(key)?.total ?? 0) + by;
      moved.set(key, { project_id, status, total });
    }
  };
  count(before, -1);
  count(after, 1);
  const rows = [...moved.values()].filter(({ total }) => total !== 0);
  if (rows.length === 0) return;
  await tx("issue_total")
    .insert(rows)
    .onConflict(["project_id", "status"])
    .merge({ total: tx.raw("issue_total.total + excluded.total") });
  const projectIds = rows.map(({ project_id }) => project_id);
  await tx("issue_total").whereIn("project_id", projectIds).andWhere("total", 0).delete();
}

const countedMore =
  "on conflict (project_id, status) do update set total = issue_total.total + excluded.total";

/** Gives an issue its number; one that has none counts from then on. */
function number(rows: Writes, { subjectId, localId: local_id }: Assigned): void {
  const id = subjectId as IssueId;
  rows.run((db) =>
    db.raw(
      `insert into issue_total (project_id, status, total)
       select project_id, status, 1 from issue where id = ? and local_id is null ${countedMore}`,
      [id],
    ),
  );
  rows.change(issues, { id }, { local_id });
}

/** A numbered issue is about to have another status. */
function recount(rows: Writes, id: IssueId, status: IssueStatus): void {
  rows.run((db) =>
    db.raw(
      `with moved as (
         select project_id, status from issue
         where id = :id and local_id is not null and status <> :status
       ), fewer as (
         update issue_total set total = issue_total.total - 1 from moved
         where issue_total.project_id = moved.project_id and issue_total.status = moved.status
       )
       insert into issue_total (project_id, status, total)
       select project_id, :status, 1 from moved ${countedMore}`,
      { id, status },
    ),
  );
}

/** A numbered issue is about to go, or to be as it was before it had a number. */
function uncount(rows: Writes, id: IssueId): void {
  rows.run((db) =>
    db.raw(
      `update issue_total set total = issue_total.total - 1 from issue
       where issue.id = ? and issue.local_id is not null
         and issue_total.project_id = issue.project_id and issue_total.status = issue.status`,
      [id],
    ),
  );
}

function dropEmptyTotals(rows: Writes, project_id: ProjectId): void {
  rows.run((db) => db("issue_total").where({ project_id, total: 0 }).delete());
}
