import { expect } from "chai";
import { codeOf } from "../../../support/app/answer.ts";
import { startTestApp } from "../../../support/app/app.ts";
import { expectOk, type Json } from "../../../support/app/issue.ts";
import { type MergeWorld, mergeWorlds } from "../../../support/git/merge-world.ts";

const app = await startTestApp();
const { people, world: newWorld } = await mergeWorlds(app);
const { anna, bob, carl } = people;
const root = await app.givenUser("root", { admin: true });

let world: MergeWorld;
before(async () => {
  world = await newWorld();
  const dora = await app.givenUser("dora");
  banned = { id: dora.id };
  const invited = { userAlias: "dora", role: "DEVELOPER" };
  expectOk(await world.post(anna, "/member/invite", invited));
  expectOk(await app.post(`/admin/user/${dora.id}/account/ban`, { token: root.token }));
});

let banned: Json;
const issue = { title: "Bug", description: "It fails" };
const idsOf = (list: unknown) => (list as Json[]).map(({ id }) => id);

describe("people chosen for an issue or a merge request", () => {
  it("are not newly chosen while they are banned", async () => {
    expectOk(await world.post(anna, "/issue", issue));
    const edited = { ...issue, assignedUsers: [banned] };
    expect(codeOf(await world.put(anna, "/issue/1/edit", edited))[0]).to.equal(422);
    await world.open();
    for (const body of [{ assignedUsers: [banned] }, { reviewers: [banned] }]) {
      expect(codeOf(await world.put(anna, "/merge-request/1", body))).to.deep.equal([
        422,
        "user.cannot_read",
      ]);
    }
  });

  it("stay with every edit that sends them back after they lost access", async () => {
    const other = await newWorld();
    const chosen = { assignedUsers: [{ id: carl.id }] };
    const both = { ...chosen, reviewers: [{ id: carl.id }] };
    expectOk(await other.post(anna, "/issue", { ...issue, ...chosen }));
    await other.open(both);
    await other.delete(anna, "/member/carl");
    expectOk(await other.put(anna, "/issue/1/edit", { ...issue, ...chosen }));
    const edited = expectOk(await other.put(bob, "/merge-request/1", { ...both, title: "New" }));
    expect(edited).to.include({ title: "New" });
    expect([idsOf(edited["assignedUsers"]), idsOf(edited["reviewers"])]).to.deep.equal([
      [carl.id],
      [carl.id],
    ]);
    expectOk(await other.put(bob, "/merge-request/1", { reviewers: [] }));
    const again = await other.put(bob, "/merge-request/1", both);
    expect(codeOf(again)).to.deep.equal([422, "user.cannot_read"]);
  });
});
