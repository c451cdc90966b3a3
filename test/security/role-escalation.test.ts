import { expect } from "chai";

import { roles } from "../../src/http/access/access.ts";
import { ownerScopes } from "../../src/http/access/owner-scope.ts";
import { filledPath, givenRoleWorld } from "../support/access/given.ts";
import { startTestApp } from "../support/app/app.ts";

// Family 17: more rights than were given. What each role opens is in the matrix of test/http/access.
const app = await startTestApp();
const world = await givenRoleWorld(app);

describe("a role", () => {
  const wrong = ["OWNER", "ROOT", "admin", "ADMIN ", "", null, 3, true, ["ADMIN"], { id: "ADMIN" }];

  for (const { base, noun } of ownerScopes) {
    it(`outside the known ones is refused in a ${noun}`, async () => {
      const head = await app.head();
      const path = `${filledPath(base, world.hidden)}/member`;
      for (const role of wrong) {
        const body = { userAlias: "bob", role };
        const invited = await app.post(`${path}/invite`, { token: world.anna.token, body });
        const member = { userAlias: "member-guest", role };
        const changed = await app.put(`${path}/role`, { token: world.anna.token, body: member });
        expect([invited.status, changed.status], JSON.stringify(role)).to.deep.equal([422, 422]);
      }
      expect(await app.head()).to.equal(head);
    });

    it(`is not raised by who has it in a ${noun}`, async () => {
      const head = await app.head();
      const path = `${filledPath(base, world.hidden)}/member`;
      for (const role of roles.filter((each) => each !== "ADMIN")) {
        const { alias: userAlias, token } = world.member(role);
        const body = { userAlias, role: "ADMIN" };
        expect((await app.put(`${path}/role`, { token, body })).status).to.equal(403);
        expect((await app.post(`${path}/invite`, { token, body })).status).to.equal(403);
        expect((await app.delete(`${path}/anna`, { token })).status).to.equal(403);
      }
      expect(await app.head()).to.equal(head);
    });
  }

  it("in a project is none in the team and the company above it", async () => {
    const { anna, hidden } = world;
    const inside = await app.givenUser("inside");
    const body = { title: "In", alias: "inside-team", ownerAlias: hidden["teamAlias"] };
    const made = await app.post("/project", {
      token: anna.token,
      body: { ...body, ownerAliasType: "TEAM" },
    });
    expect(made.status, made.text).to.equal(200);
    const path = `/project/${hidden["teamAlias"]}/inside-team/member/invite`;
    const order = { token: anna.token, body: { userAlias: "inside", role: "ADMIN" } };
    expect((await app.post(path, order)).status).to.equal(200);
    for (const above of [`/team/${hidden["teamAlias"]}`, `/company/${hidden["companyAlias"]}`]) {
      expect((await app.get(above, { token: inside.token })).status).to.equal(403);
    }
  });
});

describe("fields that a request does not define", () => {
  const more = {
    ...{
      admin: true,
      isAdmin: true,
      is_admin: true,
      role: "ADMIN",
      ownerId: "x",
      createdById: "x",
    },
    ...{ locked: false, blocked: false, confirmed: true, private: false, deletedAt: null },
  };
  const settings = (alias: string) => `/project/${alias}/mine/setting/change-setting`;

  it("give no rights and change nothing else", async () => {
    const eve = await app.givenUser("eve");
    await app.givenProject(eve, "mine");
    const before = (await app.get("/project/eve/mine", { token: eve.token })).body;
    const body = { title: "mine", ownerAlias: "anna", alias: "other", isPrivate: false, ...more };
    const changed = await app.put(settings("eve"), { token: eve.token, body });
    expect(changed.status, changed.text).to.equal(200);
    expect(changed.body).to.deep.equal(before);
    const profile = await app.put("/user/profile", {
      token: eve.token,
      body: { name: "E", ...more },
    });
    expect(profile.status, profile.text).to.equal(200);
    expect((await app.get("/admin/settings", { token: eve.token })).status).to.equal(403);
    const head = await app.head();
    expect((await app.put(settings("eve"), { token: world.bob.token, body })).status).to.equal(403);
    expect(await app.head()).to.equal(head);
  });
});
