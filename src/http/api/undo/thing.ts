import { ProjectId } from "../../../events/core/ids.ts";
import { Sealed } from "../../../events/core/sealed.ts";
import { idInStream } from "../../../events/core/stream.ts";
import { IssueId } from "../../../events/issue/issue.ts";
import { normaliseTitle } from "../../../events/label/label.ts";
import type { Data } from "../../../projections/audit/change.ts";
import { listAuditEntries } from "../../../projections/audit/entry-query.ts";
import { findIssueById } from "../../../projections/issue/list.ts";
import { labelsNamed } from "../../../projections/label/label.ts";
import { findMergeRequestById } from "../../../projections/merge-request/merge-request-query.ts";
import { findUserById } from "../../../projections/user/user.ts";
import { blockedBy, impossible, type Undone } from "./operation.ts";

/** The part of an event's data that is a thing of its own. */
export const partOf = (data: Data, name: string): Data => {
  const part = data[name];
  return part !== null && typeof part === "object" ? (part as Data) : {};
};

/** @throws Refusal 409 when the person is gone */
export async function aliasOf({ db }: Pick<Undone, "db">, userId: unknown): Promise<string> {
  const user = await findUserById(db, String(userId));
  if (user === undefined || user.forgotten_at !== null) throw impossible("The person is gone.");
  return user.alias;
}

/** Number of an issue in its project. @throws Refusal 409 when it was deleted */
export async function issueNumber({ db }: Pick<Undone, "db">, id: unknown): Promise<number> {
  const issue = await findIssueById(db, IssueId.parse(id));
  if (issue === undefined) throw impossible("The issue was deleted.");
  return issue.local_id;
}

export const ownIssueNumber = (undone: Undone): Promise<number> =>
  issueNumber(undone, idInStream(undone.event.stream));

/** Number of a merge request in its project. */
export async function requestNumber({ db }: Pick<Undone, "db">, id: unknown): Promise<number> {
  const request = await findMergeRequestById(db, String(id));
  if (request === undefined) throw impossible("The merge request is gone.");
  return request.local_id;
}

/**
 * A former secret in clear, to be stored again. The person who changed or deleted it could read it; others would
 * learn it by the undo.
 *
 * @throws Refusal 409 for others, and when its key was deleted
 */
export async function opened({ open, event, by }: Undone, value: unknown): Promise<string | null> {
  const sealed = Sealed.safeParse(value);
  if (!sealed.success) return null;
  if (event.metadata.actor.userId !== by) {
    throw impossible(
      "Only the person who made this change gets the former secret back: set it anew.",
    );
  }
  const text = await open(sealed.data);
  if (text === null) throw impossible("The secret it held cannot be read any more.");
  return text;
}

/**
 * The lists of people and labels that an edit changed; those of others may be gone by now.
 *
 * @param people fields of the event and of the body
 * @throws Refusal 409 when a label is gone
 */
export async function changedLists(
  undone: Undone,
  people: Readonly<Record<string, string>>,
  changed: Data,
): Promise<Data> {
  const lists: Record<string, unknown> = {};
  for (const [field, name] of Object.entries(people)) {
    if (changed[field] !== undefined) lists[name] = idsIn(changed[field]).map((id) => ({ id }));
  }
  if (changed["labelIds"] === undefined) return lists;
  return { ...lists, labels: await labelChoices(undone, idsIn(changed["labelIds"])) };
}

const idsIn = (list: unknown): readonly string[] => (Array.isArray(list) ? list : []).map(String);

async function labelChoices(undone: Undone, ids: readonly string[]): Promise<readonly Data[]> {
  const choices: Data[] = [];
  for (const id of ids) choices.push({ id: await presentLabel(undone, id) });
  return choices;
}

/**
 * The label itself, what an undo of its deletion made of it, or the one that has its title.
 *
 * @throws Refusal 409 when there is none
 */
async function presentLabel(undone: Undone, id: string): Promise<string> {
  const { db, placeId, readAt } = undone;
  const projectId = ProjectId.parse(placeId);
  if ((await labelsNamed(db, projectId, [id])).some((row) => row.id === id)) return id;
  const newest = { order: "newest", limit: 1 } as const;
  const deletion = { placeId, subjectId: id, types: ["LabelDeleted"] };
  const [deleted] = await listAuditEntries(db, deletion, newest);
  if (deleted === undefined) throw impossible("A label that it had is gone.");
  const anew = { placeId, types: ["LabelCreated"], causationId: deleted.event_id };
  const [made] = await listAuditEntries(db, anew, newest);
  if (made !== undefined) return presentLabel(undone, made.subject_id);
  const title = String((await readAt(deleted)).data["title"]);
  const [present] = (await labelsNamed(db, projectId, [title])).filter(
    (row) => row.title_normalised === normaliseTitle(title),
  );
  if (present !== undefined) return present.id;
  throw blockedBy(deleted, `deleted the label "${title}": undo that first.`);
}
