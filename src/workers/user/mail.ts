import { z } from "zod";

import { handle } from "../../commands/core/handle.ts";
import { type MailCommand, mail } from "../../commands/user/mail.ts";
import { user } from "../../commands/user/user.ts";
import type { Recorded } from "../../events/core/event.ts";
import { idInStream } from "../../events/core/stream.ts";
import { transferOfferEvents } from "../../events/team/transfer-offer.ts";
import { invitationEvents } from "../../events/user/invitation.ts";
import { userEvents } from "../../events/user/user.ts";
import { deterministicId } from "../../platform/deterministic-id.ts";
import { MailRefused } from "../../platform/mailer.ts";
import type { Job } from "../../platform/queue/queue.ts";
import { mailsBefore, waitingMails } from "../../projections/user/mail.ts";
import { causedBy, type Loaded, load } from "../../services/core/caused-by.ts";
import type { WorkerDeps } from "../../services/core/deps.ts";
import { writeMail } from "../../services/user/mail-text.ts";
import type { Reactor } from "../core/reactor.ts";
import { defineWorker } from "../core/worker.ts";

const queue = "mail";
/** Applies to sent and unsent mails: an address is not kept longer than the outbox shows it. */
const keptMs = 30 * 24 * 60 * 60_000;
const sweptAtOnce = 200;

const jobOf = (mailId: string): Job => ({ queue, id: mailId, data: { mailId } });

/**
 * Writes mails into the outbox for the events that require some. Without a mail server they wait
 * there, and administrators can read them.
 */
export const mailOutbox: Reactor = {
  name: "mail-outbox",
  types: new Set([
    "InvitationMade",
    "TransferOffered",
    "UserEmailChanged",
    "UserEmailConfirmationRequested",
    "UserPasswordResetRequested",
  ]),
  async react(event, deps) {
    const jobs: Job[] = [];
    for (const [index, wanted] of (await mailsFor(event, deps)).entries()) {
      const mailId = deterministicId("mail", event.id, ...(index === 0 ? [] : [String(index)]));
      jobs.push(...(await scheduleMail(event, mailId, wanted, deps)));
    }
    return jobs;
  },
};

/** Puts a mail into the outbox; again, it changes nothing. @returns the job that sends it */
export async function scheduleMail(
  cause: Recorded,
  mailId: string,
  wanted: WantedMail,
  { store, now, mailer }: Pick<WorkerDeps, "store" | "now" | "mailer">,
): Promise<readonly Job[]> {
  const at = now().toISOString();
  const command = { type: "ScheduleMail", mail: { mailId, ...wanted }, at } as const;
  await handle(store, mail, { id: mailId, command, metadata: causedBy(cause, mailId, now()) });
  return mailer === undefined ? [] : [jobOf(mailId)];
}

export type WantedMail = Omit<Extract<MailCommand, { type: "ScheduleMail" }>["mail"], "mailId">;

/** Always in the same order: the place in it names the mail. */
async function mailsFor(event: Recorded, { store }: WorkerDeps): Promise<readonly WantedMail[]> {
  const offer =
    event.type === "TransferOffered"
      ? transferOfferEvents.TransferOffered.parse(event.data)
      : undefined;
  const holderId = offer?.recipientId ?? idInStream(event.stream);
  if (event.type === "InvitationMade") {
    const { email, invitationId, expiresAt } = invitationEvents.InvitationMade.parse(event.data);
    return [{ kind: "INVITATION", to: email, holderId, requestId: invitationId, expiresAt }];
  }
  const { state } = await load(store, user, holderId);
  if (state.status === "absent" || state.status === "forgotten") return [];
  const to = state.email;
  if (offer !== undefined) {
    const { offerId: requestId, expiresAt } = offer;
    return [{ kind: "TRANSFER_OFFERED", to, holderId, requestId, expiresAt }];
  }
  if (event.type === "UserEmailChanged") {
    const { former } = userEvents.UserEmailChanged.parse(event.data);
    if (former === undefined) return [];
    const { email, takeBackId: requestId, expiresAt } = former;
    return [{ kind: "EMAIL_TAKE_BACK", to: email, holderId, requestId, expiresAt }];
  }
  if (event.type === "UserPasswordResetRequested") {
    const { resetId, expiresAt, parts } = userEvents.UserPasswordResetRequested.parse(event.data);
    const kind = parts === undefined ? "PASSWORD_RESET" : "PASSWORD_RESET_PART";
    return [{ resetId, email: to }, ...(parts ?? [])].map((part) => {
      return { kind, to: part.email, holderId, requestId: part.resetId, expiresAt };
    });
  }
  const link = userEvents.UserEmailConfirmationRequested.parse(event.data);
  // The address was changed in the meantime: another link goes to the new one.
  if (link.emailDigest !== state.emailDigest) return [];
  const { confirmationId: requestId, expiresAt } = link;
  return [{ kind: "EMAIL_CONFIRMATION", to, holderId, requestId, expiresAt }];
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
    const { kind, holderId, requestId, said } = state.mail;
    const expiresAt = new Date(state.mail.expiresAt);
    if (expiresAt <= now()) return await giveUp(deps, mailId, loaded, "expired");
    const to = await vault.open(state.mail.to);
    if (to === null) return await giveUp(deps, mailId, loaded, "forgotten");
    await deps.visible(loaded.position);
    const written = await writeMail(deps, { kind, holderId, requestId, expiresAt, said });
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
