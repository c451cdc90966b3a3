import { expect } from "chai";

import { issueStream } from "../../../src/events/issue/issue.ts";
import { issuePayload } from "../../../src/workers/issue/webhook-payload.ts";
import { notificationOf } from "../../../src/workers/webhook/notification.ts";
import { startTestApp } from "../../support/app/app.ts";
import { issueClient, type Json } from "../../support/app/issue.ts";

const app = await startTestApp();
const anna = await app.givenUser("anna");
const boris = await app.givenUser("boris");
const forge = await app.givenProject(anna, "forge", { private: false });
const issues = issueClient(app, anna, "anna/forge");
const deps = { ...app.deps, outbound: undefined as never, proxy: undefined as never };

/** What webhooks are sent of an issue. */
async function sentOf(id: unknown): Promise<Json[]> {
  const sent: Json[] = [];
  for await (const event of app.platform.store.readStream(issueStream(String(id)))) {
    const notification = await notificationOf(event, deps);
    if (notification === undefined) continue;
    expect(notification.projectId).to.equal(forge.id);
    sent.push({ topic: notification.topic, ...(await notification.fields()) });
  }
  return sent;
}

describe("what webhooks are sent of issues", () => {
  it("is the issue as it was after each event, and who changed it", async () => {
    for (const title of ["docs", "bug"]) await issues.label({ title });
    const labels = [{ id: "docs" }, { id: "bug" }];
    const { id, localId } = await issues.created({ labels }, boris);
    await issues.edited(localId, { title: "Find", status: { id: "COMPLETED" }, labels: [] });
    await issues.remove(localId);
    const { description } = issues.details;
    const before = { id, user_id: boris.id, user_alias: "boris", title: "Search", description };
    const after = { id, user_id: anna.id, user_alias: "anna", title: "Find", description };
    expect(await sentOf(id)).to.deep.equal([
      { topic: "ISSUE_CREATE", issue: { ...before, status: "OPEN", labels: ["bug", "docs"] } },
      { topic: "ISSUE_UPDATE", issue: { ...after, status: "COMPLETED", labels: [] } },
    ]);
  });

  it("is sent again from the streams of the project's own issues", async () => {
    const { id } = await issues.created();
    await app.givenProject(anna, "other");
    await issueClient(app, anna, "anna/other").created();
    expect(await issuePayload.streams(forge.id, deps)).to.deep.equal([issueStream(String(id))]);
  });
});
