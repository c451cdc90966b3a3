import type { Recorded } from "../../../events/core/event.ts";
import type { AuditEntryRow } from "../../../projections/audit/entry.ts";
import { type AuditFilter, listAuditEntries } from "../../../projections/audit/entry-query.ts";
import { readRecorded } from "../../../projections/audit/read-events.ts";
import type { Deps } from "../../core/deps.ts";
import { blockedBy, type Operation } from "./operation.ts";

/** Later changes of the same thing that an undo would take back with it, beside those of its own type. */
const hides: Readonly<Record<string, readonly string[]>> = {
  BranchCreated: ["BranchUpdated"],
  TagCreated: ["TagUpdated"],
  IssueClosedByCommit: ["IssueEdited"],
  IssueEdited: ["IssueClosedByCommit"],
  MemberAdded: ["MemberRoleChanged"],
  MemberRoleChanged: ["MemberAdded"],
};

const laterMax = 100;

/**
 * A later change and its undo cancel each other out.
 *
 * @throws Refusal 409 when later events changed it again and stand
 */
export async function mustBeLast(event: Recorded, row: AuditEntryRow, deps: Deps): Promise<void> {
  const types = [event.type, ...(hides[event.type] ?? [])];
  const range = { after: event.position, order: "newest", limit: laterMax } as const;
  const found = await listAuditEntries(deps.db, { ...about(row), types }, range);
  const here = found.filter(({ stream }) => stream === event.stream);
  const later = await ofTheSame(event, here, deps);
  const oldest = later[laterMax - 1];
  const ids = new Map(later.map((other) => [other.event_id, other]));
  for (const other of later) {
    const undone = ids.get(other.causation_id ?? "");
    const cancelsOut = undone !== undefined && isOtherRequest(other, undone);
    if (other !== oldest && (cancelsOut || (await isTakenBack(other, deps)))) continue;
    throw blockedBy(other, "changed it again: undo that first.");
  }
}

/** @throws Refusal 409 when a former undo of the event made its thing anew */
export async function mustNotBeRemade(
  { makes }: Operation,
  { place_id, event_id, position }: AuditEntryRow,
  { db }: Deps,
): Promise<void> {
  if (makes === undefined) return;
  const filter = { ...(place_id && { placeId: place_id }), types: [makes], causationId: event_id };
  const range = { after: position, order: "oldest", limit: 1 } as const;
  const [made] = await listAuditEntries(db, filter, range);
  if (made !== undefined) throw blockedBy(made, "took it back already.");
}

const about = ({ subject_id, place_id }: AuditEntryRow): AuditFilter => ({
  subjectId: subject_id,
  ...(place_id && { placeId: place_id }),
});

/** The stream of a discussion holds the events of several notes. */
async function ofTheSame(
  { data: { noteId } }: Recorded,
  rows: readonly AuditEntryRow[],
  { store }: Deps,
): Promise<readonly AuditEntryRow[]> {
  if (noteId === undefined) return rows;
  const events = await readRecorded(store, rows);
  return rows.filter(({ position }) => events.get(position)?.data["noteId"] === noteId);
}

/** Whether an undo of an event stands. */
async function isTakenBack(row: AuditEntryRow, deps: Deps): Promise<boolean> {
  const filter = { ...about(row), causationId: row.event_id };
  const range = { after: row.position, order: "newest", limit: laterMax } as const;
  for (const other of await listAuditEntries(deps.db, filter, range)) {
    const isUndo = other.stream === row.stream && isOtherRequest(other, row);
    if (isUndo && !(await isTakenBack(other, deps))) return true;
  }
  return false;
}

/** What follows from an event by itself belongs to the same request; an undo is one of its own. */
const isOtherRequest = (one: AuditEntryRow, other: AuditEntryRow): boolean =>
  one.correlation_id !== other.correlation_id;
