import { expect } from "chai";

import { startTestApp } from "../../../support/app/app.ts";
import { expectOk } from "../../../support/app/issue.ts";
import { type Json, type MergeWorld, mergeWorlds } from "../../../support/git/merge-world.ts";

const app = await startTestApp();
const { people, world: newWorld } = await mergeWorlds(app);
const { anna, bob } = people;
const root = await app.givenUser("root", { admin: true });
const stranger = await app.givenUser("stranger");

let world: MergeWorld;
beforeEach(async () => {
  world = await newWorld();
});

/** Opens a request of anna's under these owners. */
async function openUnder(owners: string): Promise<void> {
  await world.push("main", { CODEOWNERS: owners });
  await world.open();
}

async function ownersAgree(): Promise<unknown> {
  const { mergeRequirements } = expectOk(await world.get(bob, "/merge-request/1"));
  return (mergeRequirements as Json)["HAS_ALL_CODEOWNERS"];
}

describe("owners who may not approve", () => {
  it("are not waited for, be it that they cannot read the project or only read it", async () => {
    await openUnder("feature.txt @stranger\na.txt @carl\n");
    expect(await ownersAgree()).to.equal(true);
  });

  it("leave those who may to be waited for", async () => {
    await openUnder("[All][2]\n* @stranger @bob\n");
    expect(await ownersAgree()).to.equal(false);
    expectOk(await world.post(bob, "/merge-request/1/approve"));
    expect(await ownersAgree()).to.equal(true);
  });

  it("are waited for once they may", async () => {
    await openUnder("* @stranger\n");
    expect(await ownersAgree()).to.equal(true);
    const invited = { userAlias: stranger.alias, role: "DEVELOPER" };
    expectOk(await world.post(anna, "/member/invite", invited));
    expect(await ownersAgree()).to.equal(false);
    expectOk(await app.post(`/admin/user/${stranger.id}/account/ban`, { token: root.token }));
    expect(await ownersAgree()).to.equal(true);
  });

  it("are waited for where that is the author alone, whom the project lets not approve", async () => {
    await openUnder("* @anna\n");
    expect(await ownersAgree()).to.equal(false);
    const configuration = world.at("/merge-request/approval/configuration/edit");
    const body = { preventAuthorApproving: true };
    expectOk(await app.send("PATCH", configuration, { token: anna.token, body }));
    expect(await ownersAgree()).to.equal(false);
    const { mergeErrors } = expectOk(await world.get(bob, "/merge-request/1"));
    expect((mergeErrors as Json[]).map(({ code }) => code)).to.deep.equal([
      "code_owners.unmeetable",
    ]);
    await world.push("main", { CODEOWNERS: "* @anna @bob\n" });
    expectOk(await world.post(bob, "/merge-request/1/approve"));
    expect(await ownersAgree()).to.equal(true);
  });
});
