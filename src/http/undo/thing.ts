import { Sealed } from "../../events/core/sealed.ts";
import { idInStream } from "../../events/core/stream.ts";
import { IssueId } from "../../events/issue/issue.ts";
import type { Data } from "../../projections/audit/change.ts";
import { findIssueById } from "../../projections/issue/list.ts";
import { findMergeRequestById } from "../../projections/merge-request/merge-request-query.ts";
import { findUserById } from "../../projections/user/user.ts";
import { impossible, type Undone } from "./operation.ts";

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

/** A secret in clear, to be stored again. @throws Refusal 409 when its key was deleted */
export async function opened({ open }: Undone, value: unknown): Promise<string | null> {
  const sealed = Sealed.safeParse(value);
  if (!sealed.success) return null;
  const text = await open(sealed.data);
  if (text === null) throw impossible("The secret it held cannot be read any more.");
  return text;
}

export const ids = (list: unknown) =>
  (Array.isArray(list) ? list : []).map((id: unknown) => ({ id: String(id) }));
