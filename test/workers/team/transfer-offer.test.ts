import { randomUUID } from "node:crypto";
import { expect } from "chai";

import { handle } from "../../../src/commands/core/handle.ts";
import { transferOffer } from "../../../src/commands/team/transfer-offer.ts";
import { startTestApp, type TestUser } from "../../support/app/app.ts";
import { eventually } from "../../support/app/eventually.ts";
import { metadataFor } from "../../support/app/history.ts";
import { startMailbox } from "../../support/app/mailbox.ts";

const mailbox = await startMailbox();
const app = await startTestApp({ workers: true, smtpUrl: mailbox.url });
const anna = await app.givenUser("anna");
const boris = await app.givenUser("boris");
const clara = await app.givenUser("clara");
const to = ({ alias }: TestUser) => mailbox.to(`${alias}@example.org`);

/** Offers a new project of anna; returns the row of the offer. */
async function offered(alias: string, recipient: TestUser) {
  await app.givenProject(anna, alias);
  const body = { ownerAlias: recipient.alias, ownerAliasType: "USER" };
  const sent = await app.post(`/project/anna/${alias}/transfer`, { token: anna.token, body });
  expect(sent.status, sent.text).to.equal(200);
  const { db } = app.deps;
  return db("transfer_offer")
    .orderBy("created_at", "desc")
    .first<{ id: string; thing_id: string }>();
}

/** The acceptance alone, as a request leaves it that dies before it changes the owner. */
async function accepted({ id: offerId, thing_id: id }: { id: string; thing_id: string }) {
  const userId = boris.id;
  const command = {
    type: "AcceptTransfer",
    offerId,
    userId,
    at: app.deps.now().toISOString(),
  } as const;
  const order = { id, command, metadata: metadataFor(randomUUID()) };
  await handle(app.platform.store, transferOffer, order);
}

const isThere = async (at: string) => (await app.get(at, { token: boris.token })).status === 200;

describe("an accepted transfer whose request died", () => {
  it("is completed by a worker", async () => {
    await accepted(await offered("search", boris));
    await eventually(() => isThere("/project/boris/search"));
    expect((await app.get("/project/anna/search", { token: anna.token })).status).to.equal(404);
  });

  it("stays where it is when the recipient has a project of the alias, and others go on", async () => {
    await app.givenProject(boris, "taken");
    await accepted(await offered("taken", boris));
    await accepted(await offered("free", boris));
    await eventually(() => isThere("/project/boris/free"));
    const { status } = await app.get("/project/anna/taken", { token: anna.token });
    expect(status).to.equal(200);
  });
});

describe("mail about an offered transfer", () => {
  it("is sent once to its recipient and leads to the page that answers", async () => {
    const { id } = await offered("index", clara);
    await eventually(() => to(clara).length > 0);
    const [mail] = to(clara);
    expect(mail?.subject).to.equal("anna offers you the project anna/index");
    expect(mail?.text).to.include(`\n${app.url}/user/transfer\n`);
    expect(mail?.text).not.to.include(id);
    expect(mail?.headers.some(({ key }) => key === "list-unsubscribe")).to.equal(true);
    expect(to(clara)).to.have.length(1);
  });

  it("is not sent for an offer that was withdrawn before", async () => {
    const before = to(clara).length;
    await app.givenProject(anna, "gone");
    const body = { ownerAlias: clara.alias, ownerAliasType: "USER" };
    const back = { ownerAlias: anna.alias, ownerAliasType: "USER" };
    const at = "/project/anna/gone/transfer";
    mailbox.refuse(451);
    await app.post(at, { token: anna.token, body });
    await app.post(at, { token: anna.token, body: back });
    // Refused until the mail is given up: an attempt may have begun before the offer was withdrawn.
    const given = { holder_id: clara.id, status: "FAILED", failure: "over" };
    await eventually(async () => (await app.deps.db("mail").where(given)).length > 0, 120_000);
    mailbox.refuse(undefined);
    await offered("last", clara);
    await eventually(() => to(clara).some(({ subject }) => subject?.endsWith("anna/last")));
    expect(to(clara)).to.have.length(before + 1);
  });
});
