import { user } from "../../commands/user/user.ts";
import type { Recorded } from "../../events/core/event.ts";
import type { NotificationKind, TextSource } from "../../events/user/mail.ts";
import { deterministicId } from "../../platform/deterministic-id.ts";
import type { Job } from "../../platform/queue/queue.ts";
import { mentionsIn } from "../../platform/text-reference.ts";
import { findProjectById } from "../../projections/project/project.ts";
import { possibleReaders } from "../../projections/team/reader.ts";
import { wantsMail } from "../../projections/user/notification-preference.ts";
import { findUsersByAlias, findUsersById } from "../../projections/user/user.ts";
import { load } from "../../services/core/caused-by.ts";
import type { WorkerDeps } from "../../services/core/deps.ts";
import { scheduleMail } from "./mail.ts";

/** Older events are not worth a notification. */
const lifeMs = 3 * 24 * 60 * 60_000;

/** Whom an event assigns and mentions, by whom, and what it is about. */
export type Notice = Readonly<{
  projectId: string;
  about: string;
  assignedKind: NotificationKind;
  mentionKind: NotificationKind;
  /** Null: by the system. */
  byId: string | null;
  assigneeIds: readonly string[];
  /** Aliases. */
  mentions: readonly string[];
  /** Where they are mentioned. */
  said: TextSource;
}>;

/** Puts a mail to each of them into the outbox, if they may read the project and want such mails. */
export async function notify(
  event: Recorded,
  notice: Notice | undefined,
  deps: WorkerDeps,
): Promise<readonly Job[]> {
  if (notice === undefined) return [];
  if (notice.assigneeIds.length === 0 && notice.mentions.length === 0) return [];
  await deps.visible(event.position);
  const jobs: Job[] = [];
  const { about, assignedKind } = notice;
  for (const [userId, kind] of await recipients(notice, deps)) {
    const said = kind === assignedKind ? undefined : notice.said;
    jobs.push(...(await schedule(event, { userId, kind, about, said }, deps)));
  }
  return jobs;
}

/** Where an event is. */
export const textSourceOf = ({ stream, revision }: Recorded): TextSource => ({
  stream,
  revision: Number(revision),
});

/** Aliases that a text mentions and the one before it did not. */
export function newMentions(text: string, before: string): readonly string[] {
  const known = new Set(mentionsIn(before));
  return mentionsIn(text).filter((alias) => !known.has(alias));
}

/** One mail a person: a user who is assigned and mentioned receives the one about the assignment. */
async function recipients(
  { projectId, assigneeIds, mentions, assignedKind, mentionKind, byId }: Notice,
  { db }: WorkerDeps,
): Promise<ReadonlyMap<string, NotificationKind>> {
  const chosen = new Map<string, NotificationKind>();
  const project = await findProjectById(db, projectId);
  if (project === undefined) return chosen;
  const assigned = await findUsersById(db, assigneeIds);
  const mentioned = await findUsersByAlias(db, mentions);
  const people = new Map([...mentioned, ...assigned.values()].map((row) => [row.id, row]));
  const readers = await possibleReaders(db, project, [...people.keys()]);
  for (const { id, is_confirmed, banned_at } of people.values()) {
    const isReachable = is_confirmed && banned_at === null && id !== byId;
    if (!isReachable || readers.get(id)?.reads !== true || !(await wantsMail(db, id))) continue;
    chosen.set(id, assigned.has(id) ? assignedKind : mentionKind);
  }
  return chosen;
}

type Recipient = Readonly<{
  userId: string;
  kind: NotificationKind;
  about: string;
  said: TextSource | undefined;
}>;

async function schedule(
  event: Recorded,
  { userId, kind, about, said }: Recipient,
  deps: WorkerDeps,
): Promise<readonly Job[]> {
  const { state } = await load(deps.store, user, userId);
  if (state.status === "absent" || state.status === "forgotten") return [];
  const mailId = deterministicId("notification", event.id, userId);
  const expiresAt = new Date(deps.now().getTime() + lifeMs).toISOString();
  const mentioned = said === undefined ? {} : { said };
  const to = state.email;
  const wanted = { kind, to, holderId: userId, requestId: about, expiresAt, ...mentioned };
  return scheduleMail(event, mailId, wanted, deps);
}
