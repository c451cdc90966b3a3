import { expect } from "chai";

import { membershipStream } from "../../../src/events/team/membership.ts";
import { notificationOf } from "../../../src/workers/webhook/notification.ts";
import { type Send, startTestApp, type TestUser } from "../../support/app/app.ts";

const app = await startTestApp();
const as = (user: { token: string }, body?: unknown): Send => ({ token: user.token, body });

let anna: TestUser;
let bob: TestUser;

before(async () => {
  anna = await app.givenUser("anna");
  bob = await app.givenUser("bob");
});

/** The payloads that webhooks would receive for all events of the members. */
async function payloadsOf(parentId: string) {
  const deps = { ...app.deps, outbound: undefined as never, proxy: undefined as never };
  const payloads: unknown[] = [];
  for await (const event of app.platform.store.readStream(membershipStream(parentId))) {
    const notification = await notificationOf(event, deps);
    if (notification === undefined) continue;
    expect(notification.projectId).to.equal(parentId);
    payloads.push({ topic: notification.topic, ...(await notification.fields()) });
  }
  return payloads;
}

async function hireAndFire(at: string): Promise<void> {
  const role = (name: string) => as(anna, { userAlias: "bob", role: name });
  await app.post(`${at}/member/invite`, role("GUEST"));
  await app.put(`${at}/member/role`, role("ADMIN"));
  expect((await app.delete(`${at}/member/bob`, as(anna))).status).to.equal(200);
}

describe("webhook payloads about members", () => {
  it("name who was added, changed and removed, and by whom", async () => {
    const { id } = await app.givenProject(anna, "search");
    await hireAndFire("/project/anna/search");
    const initiator = { id: anna.id, name: "anna" };
    const collaborator = { user_id: bob.id, user_alias: "bob", role: "ADMIN" };
    expect(await payloadsOf(id)).to.deep.equal([
      { topic: "COLLABORATOR_ADD", collaborator: { ...collaborator, role: "GUEST" }, initiator },
      {
        topic: "COLLABORATOR_UPDATE",
        collaborator: { ...collaborator, old_role: "GUEST" },
        initiator,
      },
      { topic: "COLLABORATOR_DELETE", collaborator, initiator },
    ]);
  });

  it("do not exist for teams, which have no webhooks", async () => {
    const { body } = await app.post("/team", as(anna, { title: "T", alias: "tools" }));
    await hireAndFire("/team/tools");
    expect(await payloadsOf(String(body["id"]))).to.deep.equal([]);
  });
});
