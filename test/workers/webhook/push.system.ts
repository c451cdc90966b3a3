import { createHmac } from "node:crypto";
import { expect } from "chai";

import { startTestApp, type TestApp } from "../../support/app/app.ts";
import { eventually } from "../../support/app/eventually.ts";
import { type Received, type Receiver, startReceiver } from "../../support/client/receiver.ts";
import { commit, git, temporaryDirectory, workingCopy } from "../../support/git/git.ts";

const base = "/project/anna/search/setting/webhook";
const secret = "s3cret";

/** All roles at once: what a user sees of a webhook, from the push to the receiver and the log. */
describe("a push and its webhooks", () => {
  let app: TestApp;
  let receiver: Receiver;
  let token: string;
  let copy: string;
  let webhookId: string;

  before(async () => {
    app = await startTestApp({ workers: true });
    receiver = await startReceiver();
    const anna = await app.givenUser("anna");
    ({ token } = anna);
    await app.givenProject(anna, "search");
    copy = await workingCopy(await temporaryDirectory(), "copy");
    const remote = new URL("/project/anna/search.git", app.url);
    remote.username = "anna";
    remote.password = token;
    await git(copy, "remote", "add", "origin", remote.href);

    const events = { BRANCH_CREATE: true, BRANCH_UPDATE: true, TAG_CREATE: true, TAG_DELETE: true };
    const body = { url: receiver.url, secret, events };
    const created = await app.post(base, { token, body });
    expect(created.status).to.equal(200);
    webhookId = String(created.body["id"]);
  });
  beforeEach(() => receiver.reset());

  const actions = () => receiver.received.map(({ body }) => JSON.parse(body).action as string);
  const arrived = (count: number) => eventually(() => receiver.received.length >= count, 90_000);

  type Delivery = Readonly<{ id: string; event: string; status: string; attempts: number }>;
  async function deliveries(): Promise<readonly Delivery[]> {
    const { body } = await app.get(`${base}/${webhookId}/delivery?size=200`, { token });
    return (body["_embedded"] as { webhookDeliveryList: Delivery[] }).webhookDeliveryList;
  }

  /** As a receiver checks it, by the text of Standard Webhooks. */
  function isSigned({ headers, body }: Received): boolean {
    const content = `${headers["webhook-id"]}.${headers["webhook-timestamp"]}.${body}`;
    const expected = createHmac("sha256", secret).update(content).digest("base64");
    return headers["webhook-signature"] === `v1,${expected}`;
  }

  it("arrive signed, in the order of what was pushed, and are in the log", async () => {
    await commit(copy, "First", { "a.txt": "a" });
    await git(copy, "push", "--quiet", "origin", "main");
    await arrived(1);
    await commit(copy, "Second", { "a.txt": "b" });
    await git(copy, "push", "--quiet", "origin", "main");
    await git(copy, "tag", "v1");
    await git(copy, "push", "--quiet", "origin", "v1");
    await git(copy, "push", "--quiet", "origin", ":v1");
    await arrived(4);

    expect(actions()).to.deep.equal(["BRANCH_CREATE", "BRANCH_UPDATE", "TAG_CREATE", "TAG_DELETE"]);
    for (const request of receiver.received) {
      expect(isSigned(request)).to.equal(true);
      expect(request.headers["service-webhook-secret"]).to.equal(secret);
      expect(request.headers["service-webhook-event"]).to.equal(JSON.parse(request.body).action);
    }
    await eventually(async () => (await deliveries()).every(({ status }) => status === "SUCCESS"));
    expect((await deliveries()).map(({ event }) => event)).to.deep.equal(actions().reverse());
  });

  it("are tried again after a 500, with the same id", async () => {
    receiver.answer((response) => {
      response.writeHead(receiver.received.length === 1 ? 500 : 200).end();
    });
    await git(copy, "push", "--quiet", "origin", "main:refs/heads/retried");
    await arrived(1);
    // The second attempt follows after about 5 s of real time.
    await arrived(2);
    const ids = receiver.received.map(({ headers }) => headers["service-webhook-delivery"]);
    expect(new Set(ids).size).to.equal(1);
    await eventually(async () => {
      const own = (await deliveries()).find(({ id }) => id === ids[0]);
      return own?.status === "SUCCESS" && own.attempts === 2;
    });
  });

  it("can be tried out, and delivered again", async () => {
    const test = await app.post(`${base}/${webhookId}/test`, { token });
    await arrived(1);
    expect(JSON.parse(receiver.received[0]!.body)).to.have.all.keys("action", "project_id");

    const again = `${base}/${webhookId}/delivery/${test.body["id"]}/redeliver`;
    const redelivered = await app.post(again, { token });
    await arrived(2);
    expect(receiver.received[1]?.body).to.equal(receiver.received[0]?.body);
    expect(receiver.received[1]?.headers["webhook-id"]).to.equal(redelivered.body["id"]);
  });

  it("send history again, in its order, only the requested events", async () => {
    const day = 24 * 60 * 60_000;
    const body = {
      from: new Date(Date.now() - day).toISOString(),
      to: new Date(Date.now() + day).toISOString(),
      events: ["BRANCH_UPDATE", "TAG_CREATE", "TAG_DELETE"],
    };
    const answer = await app.post(`${base}/${webhookId}/replay`, { token, body });
    expect(answer.status).to.equal(200);
    await arrived(3);
    expect(actions()).to.deep.equal(["BRANCH_UPDATE", "TAG_CREATE", "TAG_DELETE"]);
    const marks = receiver.received.map(({ headers }) => headers["service-webhook-replay"]);
    expect(marks).to.deep.equal(["true", "true", "true"]);

    const replay = `${base}/${webhookId}/replay/${answer.body["replayId"]}`;
    await eventually(async () => (await app.get(replay, { token })).body["status"] === "FINISHED");
    const progress = (await app.get(replay, { token })).body;
    expect(progress).to.deep.include({ sent: 3, total: 3, perSecond: null, events: body.events });
    const late = await app.post(`${replay}/cancel`, { token });
    expect([late.status, late.body["code"]]).to.deep.equal([422, "webhook_replay.over"]);

    const before = await deliveries();
    const never = { ...body, from: "2001-01-01", to: "2001-01-02" };
    await app.post(`${base}/${webhookId}/replay`, { token, body: never });
    await app.post(`${base}/${webhookId}/test`, { token });
    await arrived(4);
    expect(await deliveries()).to.have.length(before.length + 1);
  });

  it("send no more of a history that was canceled", async () => {
    let release: () => void = () => undefined;
    receiver.answer((response) => {
      release = () => void response.writeHead(200).end();
    });
    const body = {
      from: new Date(Date.now() - 24 * 60 * 60_000).toISOString(),
      to: new Date().toISOString(),
      events: ["BRANCH_UPDATE", "TAG_CREATE", "TAG_DELETE"],
      perSecond: 1_000,
    };
    const answer = await app.post(`${base}/${webhookId}/replay`, { token, body });
    const replay = `${base}/${webhookId}/replay/${answer.body["replayId"]}`;
    await arrived(1);
    const canceled = await app.post(`${replay}/cancel`, { token });
    expect(canceled.body["status"]).to.equal("CANCELED");
    receiver.answer((response) => void response.end());
    release();

    await app.post(`${base}/${webhookId}/test`, { token });
    await arrived(2);
    expect(actions()).to.deep.equal(["BRANCH_UPDATE", "TEST_WEBHOOK"]);
    const again = await app.post(`${replay}/cancel`, { token });
    expect(again.body).to.include({ status: "CANCELED", sent: 1 });
  });

  it("stop when the webhook is deleted", async () => {
    await app.post(`${base}/${webhookId}/delete`, { token });
    const control = await app.post(base, {
      token,
      body: { url: `${receiver.url}/control`, events: { BRANCH_CREATE: true } },
    });
    expect(control.status).to.equal(200);
    await git(copy, "push", "--quiet", "origin", "main:refs/heads/unheard");
    await arrived(1);
    expect(receiver.received.map(({ path }) => path)).to.deep.equal(["/hook/control"]);
  });
});
