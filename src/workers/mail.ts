import { z } from "zod";

import { handle } from "../commands/handle.ts";
import { type MailCommand, mail } from "../commands/mail.ts";
import { user } from "../commands/user.ts";
import type { Recorded } from "../events/event.ts";
import { invitationEvents } from "../events/invitation.ts";
import { idInStream } from "../events/stream.ts";
import { userEvents } from "../events/user.ts";
import { deterministicId } from "../platform/deterministic-id.ts";
import { MailRefused } from "../platform/mailer.ts";
import type { Job } from "../platform/queue.ts";
import { mailsBefore, waitingMails } from "../projections/mail.ts";
import type { WorkerDeps } from "./deps.ts";
import { writeMail } from "./mail-text.ts";
import { causedBy, type Loaded, load } from "./order.ts";
import type { Reactor } from "./reactor.ts";
import { defineWorker } from "./worker.ts";

const queue = "mail";
/** Sent or not: later nobody asks any more, and an address should not be kept without a reason. */
const keptMs = 30 * 24 * 60 * 60_000;
const sweptAtOnce = 200;

const jobOf = (mailId: string): Job => ({ queue, id: mailId, data: { mailId } });

/**
 * Writes mails into the outbox, one for each event that asks for one. Without a mail server they wait
 * there, and administrators can read them.
 */
export const mailOutbox: Reactor = {
  name: "mail-outbox",
  types: new Set([
    "InvitationMade",
    "UserEmailConfirmationRequested",
    "UserPasswordResetRequested",
  ]),
  async react(event, deps) {
    const { store, now, mailer } = deps;
    const wanted = await mailFor(event, deps);
    if (wanted === undefined) return [];
    const mailId = deterministicId("mail", event.id);
    const at = now().toISOString();
    const command = { type: "ScheduleMail", mail: { mailId, ...wanted }, at } as const;
    const metadata = causedBy(event, mailId, now());
    await handle(store, mail, { id: mailId, command, metadata });
    return mailer === undefined ? [] : [jobOf(mailId)];
  },
};

type Wanted = Omit<Extract<MailCommand, { type: "ScheduleMail" }>["mail"], "mailId">;

async function mailFor(event: Recorded, { store }: WorkerDeps): Promise<Wanted | undefined> {
  const holderId = idInStream(event.stream);
  if (event.type === "InvitationMade") {
    const { email, invitationId, expiresAt } = invitationEvents.InvitationMade.parse(event.data);
    return { kind: "INVITATION", to: email, holderId, requestId: invitationId, expiresAt };
  }
  const { state } = await load(store, user, holderId);
  if (state.status === "absent" || state.status === "forgotten") return undefined;
  const to = state.email;
  if (event.type === "UserPasswordResetRequested") {
    const { resetId, expiresAt } = userEvents.UserPasswordResetRequested.parse(event.data);
    return { kind: "PASSWORD_RESET", to, holderId, requestId: resetId, expiresAt };
  }
  const link = userEvents.UserEmailConfirmationRequested.parse(event.data);
  // The address was changed in the meantime: another link goes to the new one.
  if (link.emailDigest !== state.emailDigest) return undefined;
  const { confirmationId: requestId, expiresAt } = link;
  return { kind: "EMAIL_CONFIRMATION", to, holderId, requestId, expiresAt };
}

/** Sends what waits. A crash after the server took it and before it is noted sends it again, as itself. */
export const mailWorker = defineWorker({
  queue,
  concurrency: 4,
  payload: z.object({ mailId: z.uuid() }),
  async run({ mailId }, deps) {
    const { store, vault, mailer, now } = deps;
    const loaded = await load(store, mail, mailId);
    const { state } = loaded;
    if (state.status !== "waiting" || mailer === undefined) return;
    const { kind, holderId, requestId } = state.mail;
    const expiresAt = new Date(state.mail.expiresAt);
    if (expiresAt <= now()) return await giveUp(deps, mailId, loaded, "expired");
    const to = await vault.open(state.mail.to);
    if (to === null) return await giveUp(deps, mailId, loaded, "forgotten");
    await deps.visible(loaded.position);
    const written = await writeMail(deps, { kind, holderId, requestId, expiresAt });
    if (written === undefined) return await giveUp(deps, mailId, loaded, "over");
    try {
      await mailer.send({ id: mailId, to, ...written });
    } catch (error) {
      if (!(error instanceof MailRefused)) throw error;
      // The server's words may quote the address: they stay out of the log of events.
      return await giveUp(deps, mailId, loaded, "refused");
    }
    await note(deps, mailId, loaded, { type: "RecordMailSent", at: now().toISOString() });
  },
});

type MailLoaded = Loaded<unknown>;

function giveUp(deps: WorkerDeps, mailId: string, loaded: MailLoaded, reason: string) {
  const at = deps.now().toISOString();
  return note(deps, mailId, loaded, { type: "GiveUpMail", reason, at });
}

async function note(
  { store, now }: WorkerDeps,
  mailId: string,
  { last }: MailLoaded,
  command: MailCommand,
): Promise<void> {
  if (last === undefined) return;
  const metadata = causedBy(last, deterministicId(command.type, mailId), now());
  await handle(store, mail, { id: mailId, command, metadata });
}

/**
 * Sends what waited for a mail server to be configured, gives up what has expired and takes out of
 * the outbox what is old. A job that the queue knows already is not added again.
 */
export async function sweepMails(deps: WorkerDeps): Promise<void> {
  const { db, store, queues, mailer, now } = deps;
  const waiting = { now: now(), limit: sweptAtOnce };
  for (const mailId of await waitingMails(db, { ...waiting, expired: true })) {
    await giveUp(deps, mailId, await load(store, mail, mailId), "expired");
  }
  if (mailer !== undefined) {
    await queues.add((await waitingMails(db, { ...waiting, expired: false })).map(jobOf));
  }
  const before = new Date(now().getTime() - keptMs);
  for (const mailId of await mailsBefore(db, before, sweptAtOnce)) {
    const loaded = await load(store, mail, mailId);
    await note(deps, mailId, loaded, { type: "RemoveMail", at: now().toISOString() });
  }
}
