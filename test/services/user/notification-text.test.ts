import { expect } from "chai";

import { mergeRequestStream } from "../../../src/events/merge-request/merge-request.ts";
import { mailEvents, NotificationKind } from "../../../src/events/user/mail.ts";
import { writeNotification } from "../../../src/services/user/notification-text.ts";
import { issueNotification } from "../../../src/workers/issue/notification.ts";
import { mergeRequestNotification } from "../../../src/workers/merge-request/notification.ts";
import { startTestApp } from "../../support/app/app.ts";
import { expectOk } from "../../support/app/issue.ts";
import { mergeWorlds } from "../../support/git/merge-world.ts";

const app = await startTestApp();
const { people, world: newWorld } = await mergeWorlds(app);
const { anna, bob, carl } = people;
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

describe("a mail about an assignment", () => {
  it("shows the text, which the assignment left as it was", async () => {
    const own = await newWorld();
    const { id: requestId } = await own.open({ description: "What it does" });
    await own.put(anna, "/merge-request/1", { assignedUsers: [{ id: carl.id }] });
    const stream = mergeRequestStream(String(requestId));
    const said = { stream, revision: 1 };
    const kind = "MERGE_REQUEST_ASSIGNED";
    const about = { kind, holderId: carl.id, requestId: String(requestId), said } as const;
    expect((await writeNotification(deps, about))?.text).to.include("\n\nWhat it does\n\n");
  });
});

/** Texts of the mails to carl that follow from the log, as they would be sent now. */
async function textsToCarl(): Promise<readonly (string | undefined)[]> {
  const rest = { outbound: undefined as never, proxy: undefined as never };
  const from = await app.head();
  for await (const event of app.deps.store.readAll()) {
    if (event.position > (from ?? 0n)) break;
    for (const reactor of [issueNotification, mergeRequestNotification]) {
      if (reactor.types.has(event.type)) await reactor.react(event, { ...app.deps, ...rest });
    }
  }
  const texts: (string | undefined)[] = [];
  for await (const { type, data } of app.deps.store.readAll()) {
    if (type !== "MailScheduled") continue;
    const { kind, holderId, requestId, said } = mailEvents.MailScheduled.parse(data);
    const about = { kind: NotificationKind.parse(kind), holderId, requestId, said };
    if (holderId === carl.id) texts.push((await writeNotification(deps, about))?.text);
  }
  return texts;
}

describe("a mail about a mention", () => {
  it("is of the person who mentioned, with the text while it stands", async () => {
    const bug = { title: "Bug", description: "Look at this, @carl" };
    const { localId } = expectOk(await world.post(anna, "/issue", bug));
    const edited = { ...bug, description: "Nothing" };
    expectOk(await world.put(bob, `/issue/${localId}/edit`, edited));
    const comments = `/issue-discussion/${localId}`;
    expectOk(await world.post(bob, `${comments}/create`, { note: "So, @carl" }));
    const { id } = expectOk(await world.post(bob, `${comments}/create`, { note: "Gone, @carl" }));
    expectOk(await app.delete(world.at(`${comments}/${id}/delete`), { token: bob.token }));
    await world.open({ description: "Mine" });
    expectOk(await world.put(bob, "/merge-request/1", { description: "For @carl" }));
    expectOk(await world.put(anna, "/merge-request/1", { description: "Again mine" }));
    const about = (text: string | undefined) => text === undefined || text.includes("mentions you");
    const [issue, comment, gone, request] = (await textsToCarl()).filter(about);
    expect(issue).to.match(/^anna mentions you in the issue .*The text was changed since\./s);
    expect(issue).not.to.include("Look at this");
    expect(comment).to.match(/^bob mentions you in the issue .*So, @carl/s);
    expect(gone).to.equal(undefined);
    expect(request).to.match(/^bob mentions you in the merge request .*was changed since\./s);
    expect(request).not.to.include("For @carl");
  });
});
