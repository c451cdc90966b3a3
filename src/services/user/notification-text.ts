import type { Knex } from "knex";

import { unsubscribeToken } from "../../commands/user/notification-preference.ts";
import { UserId } from "../../events/core/ids.ts";
import { IssueId } from "../../events/issue/issue.ts";
import { IssueCommentId } from "../../events/issue/issue-comment.ts";
import type { NotificationKind, TextSource } from "../../events/user/mail.ts";
import type { EventStore } from "../../platform/event-store/event-store.ts";
import { unreachable } from "../../platform/invariant.ts";
import type { Vault } from "../../platform/key/vault.ts";
import { type Message, oneLine } from "../../platform/mailer.ts";
import { clipText } from "../../platform/storable-text.ts";
import { findIssueCommentById } from "../../projections/issue/issue-comment.ts";
import { findIssueById } from "../../projections/issue/list.ts";
import { findNoteById } from "../../projections/merge-request/discussion.ts";
import { findMergeRequestById } from "../../projections/merge-request/merge-request-query.ts";
import { whyDropped } from "../../projections/merge-request/merge-request-row.ts";
import { findProjectById } from "../../projections/project/project.ts";
import { possibleReaders } from "../../projections/team/reader.ts";
import { findTransfer } from "../../projections/team/transfer-offer.ts";
import { wantsMail } from "../../projections/user/notification-preference.ts";
import { findUserById } from "../../projections/user/user.ts";
import { textAt } from "./written-text.ts";

export type WrittenMail = Pick<Message, "subject" | "text" | "unsubscribeUrl">;

type Deps = Readonly<{
  store: Pick<EventStore, "readStream">;
  vault: Pick<Vault, "digest">;
  db: Knex;
  publicUrl: string;
  now: () => Date;
}>;

type About = Readonly<{
  kind: NotificationKind;
  holderId: string;
  requestId: string;
  said?: TextSource | undefined;
}>;

const titleMax = 100;
const excerptMax = 2_000;

export const unsubscribePath = "/account/unsubscribe";

/**
 * Writes a notification. Undefined when what it is about is gone, or when the recipient may not read it now, is
 * banned or wants no such mail.
 */
export async function writeNotification(
  deps: Deps,
  about: About,
): Promise<WrittenMail | undefined> {
  const { kind, holderId } = about;
  const holder = await findUserById(deps.db, holderId);
  if (holder === undefined || holder.banned_at !== null) return undefined;
  if (kind === "TRANSFER_OFFERED") return await writeTransfer(deps, about);
  return await writeMention(deps, { ...about, kind });
}

/** Leads to the page that answers the offer; what is offered may be private, so the mail holds only its name. */
async function writeTransfer(
  { db, vault, publicUrl, now }: Deps,
  { holderId, requestId }: About,
): Promise<WrittenMail | undefined> {
  const offer = await findTransfer(db, { id: requestId }, now());
  if (offer?.recipient_id !== holderId || !(await wantsMail(db, holderId))) return undefined;
  const { offered_by_alias: by, owner_alias: owner, alias, thing_type: type } = offer;
  const what = `the ${type.toLowerCase()} ${type === "PROJECT" ? `${owner}/${alias}` : alias}`;
  const until = offer.expires_at.toISOString().slice(0, 10);
  const at = `${publicUrl}/user/transfer`;
  const { unsubscribeUrl, hint } = unsubscribing({ vault, publicUrl }, holderId);
  const parts = [
    `${by} offers you ${what}. It becomes yours when you accept, until ${until}. Answer here:`,
    at,
    "If you do not want it, there is nothing to do.",
    hint,
    "",
  ];
  return { subject: `${by} offers you ${what}`, text: parts.join("\n\n"), unsubscribeUrl };
}

function unsubscribing({ vault, publicUrl }: Pick<Deps, "vault" | "publicUrl">, userId: string) {
  const token = unsubscribeToken(vault, UserId.parse(userId));
  const unsubscribeUrl = `${publicUrl}${unsubscribePath}?token=${token}`;
  return { unsubscribeUrl, hint: `To stop such mails: ${unsubscribeUrl}` };
}

type MentionKind = Exclude<NotificationKind, "TRANSFER_OFFERED">;

async function writeMention(
  { db, store, vault, publicUrl }: Deps,
  { kind, holderId, requestId, said }: About & Readonly<{ kind: MentionKind }>,
): Promise<WrittenMail | undefined> {
  const found = await subjectOf(db, kind, requestId);
  const then = said && (await textAt(store, said));
  const about = found && { ...found, ...then };
  const project = about && (await findProjectById(db, about.projectId));
  if (about === undefined || project === undefined) return undefined;
  const reader = (await possibleReaders(db, project, [holderId])).get(holderId);
  if (reader?.reads !== true || !(await wantsMail(db, holderId))) return undefined;

  const by = (await findUserById(db, about.byId))?.alias ?? "A former user";
  const title = clipText(oneLine(about.title), titleMax);
  const where = `${project.owner_alias}/${project.alias}`;
  const path = `/project/${where}/${about.place}`;
  const { unsubscribeUrl, hint } = unsubscribing({ vault, publicUrl }, holderId);
  const happened = happenedTo(
    kind,
    by,
    `the ${about.noun} "${title}" (${about.reference}) of ${where}`,
  );
  // A mail may be sent long after: text that was removed meanwhile is not sent any more.
  const stands = then?.text === undefined || then.text === found?.text;
  const text = stands ? clipText(about.text, excerptMax) : "The text was changed since.";
  const parts = [happened, text, `${publicUrl}${path}`, hint, ""];
  const subject = `[${where}] ${title} (${about.reference})`;
  return { subject, text: parts.join("\n\n"), unsubscribeUrl };
}

function happenedTo(kind: MentionKind, by: string, what: string): string {
  switch (kind) {
    case "ISSUE_ASSIGNED":
    case "MERGE_REQUEST_ASSIGNED":
      return `You are assigned to ${what}.`;
    case "AUTO_MERGE_DROPPED":
      return `${what.replace("the", "The")} is not merged as you wanted, when its pipelines succeed:`;
    default:
      return `${by} mentions you in ${what}:`;
  }
}

type Subject = Readonly<{
  projectId: string;
  noun: "issue" | "merge request";
  /** `#12` or `!7`. */
  reference: string;
  /** Path below that of the project. */
  place: string;
  title: string;
  text: string;
  byId: string;
}>;

async function subjectOf(db: Knex, kind: MentionKind, id: string): Promise<Subject | undefined> {
  switch (kind) {
    case "ISSUE_ASSIGNED":
    case "ISSUE_MENTIONED":
      return issueSubject(db, id);
    case "COMMENT_MENTIONED": {
      const comment = await findIssueCommentById(db, IssueCommentId.parse(id));
      const of = comment && (await issueSubject(db, comment.issue_id));
      return of && { ...of, text: comment.message, byId: comment.author_id };
    }
    case "MERGE_REQUEST_ASSIGNED":
    case "MERGE_REQUEST_MENTIONED":
      return requestSubject(db, id);
    case "AUTO_MERGE_DROPPED": {
      const dropped = (await findMergeRequestById(db, id))?.dropped_merge ?? undefined;
      const of = dropped && (await requestSubject(db, id));
      return of && { ...of, text: whyDropped(dropped) };
    }
    case "NOTE_MENTIONED": {
      const note = await findNoteById(db, id);
      const of = note && (await requestSubject(db, note.merge_request_id));
      return of && { ...of, text: note.message, byId: note.author_id };
    }
    default:
      return unreachable(kind);
  }
}

async function issueSubject(db: Knex, id: string): Promise<Subject | undefined> {
  const issue = await findIssueById(db, IssueId.parse(id));
  if (issue === undefined) return undefined;
  const { project_id: projectId, local_id, title, description: text, updated_by_id: byId } = issue;
  const of = { noun: "issue", reference: `#${local_id}`, place: `issue/${local_id}` } as const;
  return { ...of, projectId, title, text, byId };
}

async function requestSubject(db: Knex, id: string): Promise<Subject | undefined> {
  const row = await findMergeRequestById(db, id);
  if (row === undefined) return undefined;
  const { project_id: projectId, local_id, title, description: text, author_id: byId } = row;
  const place = `merge-request/${local_id}`;
  const of = { noun: "merge request", reference: `!${local_id}`, place } as const;
  return { ...of, projectId, title, text, byId };
}
