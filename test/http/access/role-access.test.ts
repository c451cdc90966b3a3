import { expect } from "chai";

import { startTestApp, type TestProject, type TestUser } from "../../support/app/app.ts";

const app = await startTestApp();
let anna: TestUser;
let bob: TestUser;
let count = 0;
let project: TestProject;

before(async () => {
  anna = await app.givenUser("anna");
  bob = await app.givenUser("bob");
});

beforeEach(async () => {
  count += 1;
  project = await app.givenProject(anna, `project-${count}`);
});

const path = () => `/project/anna/project-${count}`;
const status = async (user: TestUser) => (await app.get(path(), { token: user.token })).status;

describe("a role that is remembered", () => {
  it("is there with the answer that gives it, and gone with the answer that takes it", async () => {
    for (let round = 0; round < 10; round += 1) {
      expect(await status(bob)).to.equal(403);
      const body = { userAlias: "bob", role: "GUEST" };
      await app.post(`${path()}/member/invite`, { token: anna.token, body });
      expect(await status(bob)).to.equal(200);
      await app.delete(`${path()}/member/bob`, { token: anna.token });
    }
  });

  it("is each caller's own", async () => {
    expect(await status(anna)).to.equal(200);
    expect(await status(bob)).to.equal(403);
    expect((await app.get(path())).status).to.equal(403);
    const byId = await app.get(`/project/${project.id}`, { token: bob.token });
    expect(byId.status).to.equal(403);
  });

  it("shows a project as it was last changed", async () => {
    for (const title of ["One", "Two", "Three"]) {
      await app.get(path(), { token: anna.token });
      const changed = await app.put(`${path()}/setting/change-setting`, {
        token: anna.token,
        body: { title },
      });
      expect(changed.status).to.equal(200);
      expect((await app.get(path(), { token: anna.token })).body["title"]).to.equal(title);
    }
  });

  it("does not outlive the name it was found by", async () => {
    const carl = await app.givenUser(`carl-${count}`);
    await app.givenProject(carl, "own");
    const at = (alias: string) => app.get(`/project/${alias}/own`, { token: carl.token });
    expect((await at(`carl-${count}`)).status).to.equal(200);
    const body = { username: `karl-${count}` };
    const renamed = await app.put("/user/change-username", { token: carl.token, body });

    expect(renamed.status).to.equal(200);
    expect((await at(`carl-${count}`)).status).to.equal(404);
    expect((await at(`karl-${count}`)).status).to.equal(200);
  });
});
