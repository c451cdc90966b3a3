import { expect } from "chai";

import { startTestApp, type TestUser } from "../../support/app/app.ts";
import { eventually } from "../../support/app/eventually.ts";
import { startMailbox } from "../../support/app/mailbox.ts";
import { mergeWorlds } from "../../support/git/merge-world.ts";

const mailbox = await startMailbox();
const app = await startTestApp({ workers: true, smtpUrl: mailbox.url });
const { people, world: newWorld } = await mergeWorlds(app);
const { anna, bob, carl } = people;
const dora = await app.givenUser("dora");

const to = ({ alias }: TestUser) => mailbox.to(`${alias}@example.org`);
const subjects = (user: TestUser) => to(user).map(({ subject }) => subject);

describe("mail about merge requests", () => {
  it("goes once to assignees, reviewers and whom a text mentions, if they may read it", async () => {
    const world = await newWorld();
    const where = `[anna/${world.project.alias}] Feature (!1)`;
    await world.open({
      assignedUsers: [{ id: bob.id }],
      reviewers: [{ id: bob.id }],
      description: "For @bob, @carl, @dora and myself, @anna",
    });
    await eventually(() => to(carl).length === 1);
    await eventually(() => to(bob).length === 1);
    expect(subjects(bob)).to.deep.equal([where]);
    expect(to(bob)[0]!.text).to.include("You are assigned to the merge request");
    expect(to(carl)[0]!.text).to.include("anna mentions you in the merge request");
    expect(to(carl)[0]!.text).to.include(`${app.url}${world.at("/merge-request/1")}`);
    expect(to(carl)[0]!.headers.map(({ key }) => key)).to.include("list-unsubscribe");

    const at = "/merge-request/1/discussions";
    const root = (await world.post(carl, `${at}/create`, { message: "Why, @anna?" })).body;
    await world.post(bob, `${at}/reply`, { discussionUuid: root["uuid"], message: "Ask @carl" });
    await world.put(anna, "/merge-request/1", { assignedUsers: [{ id: carl.id }] });
    await eventually(() => to(carl).length === 3);
    await eventually(() => to(anna).length === 1);
    expect(to(anna)[0]!.text).to.include("Why, @anna?");
    const [, second, third] = to(carl).map(({ text }) => text);
    expect([second, third].sort().join()).to.match(/You are assigned.*bob mentions you/s);
    // Bob was named before, dora cannot read the project, and nobody is notified of their own actions.
    expect([to(bob).length, to(dora).length, to(anna).length]).to.deep.equal([1, 0, 1]);
  });
});

describe("mail about an awaited merge", () => {
  it("says to who wanted it why it is not made", async () => {
    const world = await newWorld();
    const path = world.at("/merge-request/approval/configuration/edit");
    const body = { checkCiCdStatus: true };
    expect((await app.send("PATCH", path, { token: anna.token, body })).status).to.equal(200);
    await world.open();
    const waits = await world.post(bob, "/merge-request/1/merge", {
      mergeWhenPipelineSucceeds: true,
    });
    expect(waits.body).to.include({ mergeWhenPipelineSucceeds: true });
    await world.push("feature", { "more.txt": "m\n" });
    const dropped = () => to(bob).filter(({ text }) => text?.includes("is not merged"));
    await eventually(() => dropped().length === 1);
    expect(dropped()[0]?.text).to.include("New commits were pushed to the source branch.");
  });
});
