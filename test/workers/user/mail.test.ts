import { randomUUID } from "node:crypto";
import { expect } from "chai";

import { handle } from "../../../src/commands/core/handle.ts";
import { hashLink, linkToken } from "../../../src/commands/user/link-token.ts";
import { user } from "../../../src/commands/user/user.ts";
import { Alias, UserId } from "../../../src/events/core/ids.ts";
import { mailStream } from "../../../src/events/user/mail.ts";
import { userStream } from "../../../src/events/user/user.ts";
import { deterministicId } from "../../../src/platform/deterministic-id.ts";
import { openMailer } from "../../../src/platform/mailer.ts";
import { PermanentFailure } from "../../../src/platform/queue/queue.ts";
import { findMail } from "../../../src/projections/user/mail.ts";
import type { WorkerDeps } from "../../../src/services/core/deps.ts";
import { accountLink } from "../../../src/workers/user/account-link.ts";
import { mailOutbox, mailWorker, sweepMails } from "../../../src/workers/user/mail.ts";
import { at, metadataFor } from "../../support/app/history.ts";
import { startMailbox } from "../../support/app/mailbox.ts";
import { testWorkers } from "../../support/app/worker-deps.ts";

const mailbox = await startMailbox();
const { deps: without, clock } = await testWorkers();
const mailer = openMailer({ smtpUrl: mailbox.url, from: "no-reply@f.example", host: "f.example" });
after(() => mailer.close());
const deps: WorkerDeps = { ...without, mailer };
const never = new AbortController().signal;

let userId: UserId;
let address: string;
beforeEach(async () => {
  clock.now = new Date(at);
  mailbox.refuse(undefined);
  userId = UserId.parse(randomUUID());
  address = `${userId}@example.org`;
  const { store, vault } = deps;
  const command = {
    type: "RegisterUser",
    userId,
    alias: Alias.parse(`u${userId.slice(0, 8)}`),
    email: await vault.seal(`user-${userId}`, address),
    emailDigest: userId,
    passwordHash: null,
    admin: false,
    confirmed: false,
    at,
  } as const;
  await handle(store, user, { id: userId, command, metadata: metadataFor(randomUUID()) });
});

async function newest(stream: string) {
  for await (const event of deps.store.readStreamBackwards(stream, 1)) return event;
  return expect.fail(`nothing in ${stream}`);
}

/** What reactors make of the registration: the mail's id, and the jobs. */
async function scheduled(withDeps: WorkerDeps) {
  await accountLink.react(await newest(userStream(userId)), withDeps);
  const event = await newest(userStream(userId));
  expect(event.type).to.equal("UserEmailConfirmationRequested");
  const jobs = await mailOutbox.react(event, withDeps);
  return { event, jobs, mailId: deterministicId("mail", event.id) };
}

const run = (mailId: string, withDeps = deps) => mailWorker.runJob({ mailId }, withDeps, never);
const last = async (mailId: string) => (await newest(mailStream(mailId))).type;

describe("a mail made from an event", () => {
  it("is sent once, with a link whose hash alone is in the log, however often things run", async () => {
    const { event, jobs, mailId } = await scheduled(deps);
    expect(await mailOutbox.react(event, deps)).to.deep.equal(jobs);
    expect(jobs).to.deep.equal([{ queue: "mail", id: mailId, data: { mailId } }]);
    await run(mailId);
    await run(mailId);

    const [mail, ...more] = mailbox.to(address);
    expect(more).to.deep.equal([]);
    const token = linkToken(
      deps.vault,
      "EMAIL_CONFIRMATION",
      userId,
      String(event.data["confirmationId"]),
    );
    expect(mail?.text).to.contain(`https://forge.example/account/confirm-email?token=${token}`);
    expect(event.data["tokenHash"]).to.equal(hashLink(token));
    expect(JSON.stringify(event.data)).not.to.contain(token.slice(32));
    expect(await last(mailId)).to.equal("MailSent");
  });

  it("makes one link for one event, and none for an address that is proved", async () => {
    const registered = await newest(userStream(userId));
    await accountLink.react(registered, deps);
    await accountLink.react(registered, deps);
    expect((await newest(userStream(userId))).revision).to.equal(1n);
    const proved = { ...registered, data: { ...registered.data, confirmed: true } };
    await accountLink.react({ ...proved, id: randomUUID() }, deps);
    expect((await newest(userStream(userId))).revision).to.equal(1n);
  });

  it("is tried again while the server cannot take it, and given up when it never will", async () => {
    const { mailId } = await scheduled(deps);
    mailbox.refuse(451);
    await expect(run(mailId)).to.be.rejected.and.eventually.not.be.instanceOf(PermanentFailure);
    expect(await last(mailId)).to.equal("MailScheduled");
    mailbox.refuse(550);
    await run(mailId);
    expect((await newest(mailStream(mailId))).data).to.include({ reason: "refused" });
    mailbox.refuse(undefined);
    await run(mailId);
    expect(mailbox.to(address)).to.deep.equal([]);
  });

  it("is given up once its link has expired, or the person was forgotten", async () => {
    const { mailId } = await scheduled(deps);
    clock.now = new Date(Date.parse(at) + 49 * 60 * 60_000);
    await run(mailId);
    expect((await newest(mailStream(mailId))).data).to.include({ reason: "expired" });
  });

  it("is not sent to who was forgotten", async () => {
    const { mailId } = await scheduled(deps);
    await deps.vault.forget(`user-${userId}`);
    await run(mailId);
    expect((await newest(mailStream(mailId))).data).to.include({ reason: "forgotten" });
    expect(mailbox.to(address)).to.deep.equal([]);
  });

  it("waits without a mail server, and goes out when there is one", async () => {
    const { jobs, mailId } = await scheduled(without);
    expect(jobs).to.deep.equal([]);
    await run(mailId, without);
    expect(await last(mailId)).to.equal("MailScheduled");
    const { position } = await newest(mailStream(mailId));
    await deps.visible(position);

    const added: string[] = [];
    const queues = {
      ...deps.queues,
      add: async (more: readonly { id: string }[]) => void added.push(...more.map(({ id }) => id)),
    };
    await sweepMails({ ...without, queues });
    expect(added).to.deep.equal([]);
    await sweepMails({ ...deps, queues });
    expect(added).to.include(mailId);
    await run(mailId);
    expect(mailbox.to(address)).to.have.length(1);
  });

  it("is given up by the sweep as well, when no job is left to do it", async () => {
    const { mailId } = await scheduled(without);
    await deps.visible((await newest(mailStream(mailId))).position);
    clock.now = new Date(Date.parse(at) + 49 * 60 * 60_000);
    await sweepMails(without);
    expect((await newest(mailStream(mailId))).data).to.include({ reason: "expired" });
  });

  it("is taken out of the outbox after a month", async () => {
    const { mailId } = await scheduled(deps);
    await run(mailId);
    await deps.visible((await newest(mailStream(mailId))).position);
    await sweepMails(without);
    expect(await findMail(deps.db, mailId)).to.include({ status: "SENT" });
    clock.now = new Date(Date.parse(at) + 31 * 24 * 60 * 60_000);
    await sweepMails(without);
    await deps.visible((await newest(mailStream(mailId))).position);
    expect(await findMail(deps.db, mailId)).to.equal(undefined);
  });
});
