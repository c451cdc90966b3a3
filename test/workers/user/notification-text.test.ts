import { expect } from "chai";

import { writeNotification } from "../../../src/workers/user/notification-text.ts";
import { startTestApp } from "../../support/app.ts";
import { expectOk } from "../../support/issue.ts";
import { mergeWorlds } from "../../support/merge-world.ts";

const app = await startTestApp();
const { people, world: newWorld } = await mergeWorlds(app);
const { anna, carl } = people;
const root = await app.givenUser("root", { admin: true });
const world = await newWorld();
const deps = { ...app.deps, publicUrl: "https://forge.example" };

describe("a notification that waits", () => {
  it("is over when its recipient is banned meanwhile", async () => {
    const body = { title: "Bug", description: "It fails", assignedUsers: [{ id: carl.id }] };
    const { id } = expectOk(await world.post(anna, "/issue", body));
    const about = { kind: "ISSUE_ASSIGNED", holderId: carl.id, requestId: String(id) } as const;
    expect((await writeNotification(deps, about))?.text).to.include("You are assigned");
    const account = `/admin/user/${carl.id}/account`;
    expectOk(await app.post(`${account}/ban`, { token: root.token }));
    expect(await writeNotification(deps, about)).to.equal(undefined);
    expectOk(await app.post(`${account}/unban`, { token: root.token }));
    expect(await writeNotification(deps, about)).not.to.equal(undefined);
  });
});
