import { expect } from "chai";

import { givenProtection, newFile, ok, protectedChanges } from "../support/access/protection.ts";
import { git } from "../support/git/git.ts";
import { needsProgram } from "../support/process/program.ts";

/** The same change by every interface: CVE-2026-25232, CVE-2025-68940, CVE-2026-58439. */
needsProgram("ssh", "ssh-keygen");
const given = await givenProtection();
const { app, people, side } = given;

protectedChanges(given, "sample");

describe("a rule", () => {
  beforeEach(given.renewWorld);

  const mayMove = (name: string) => given.push(people.bob, `${side}:refs/heads/${name}`);

  it("cannot be walked around by a tag or a branch of the same name", async () => {
    await given.protect("branch", "main", "ADMINS");
    expect(await given.push(people.bob, `${side}:refs/tags/main`)).to.equal(true);
    expect(await mayMove("refs/heads/main"), "a branch called refs/heads/main").to.equal(true);
    expect((await given.world.refs()).get("refs/heads/main")).to.equal(given.world.head);
    const { body } = await app.get(given.world.at("/branch?branchName=main"), people.bob);
    expect(body["lastCommit"]).to.include({ hash: given.world.head });
    expect(ok(await given.world.post(people.bob, "/commit", newFile("main")))).to.equal(false);
  });

  it("holds after the project was renamed, given another default branch, and transferred", async () => {
    await given.protect("branch", "main", "ADMINS");
    const { token } = people.anna;
    const alias = `${given.world.project.alias}-renamed`;
    const base = `/project/anna/${alias}`;
    await app.put(given.world.at("/setting/alias"), { token, body: { alias } });
    await app.put(`${base}/setting/default-branch`, { token, body: { branchName: "side" } });
    const at = { token: people.bob.token };
    const commitTo = async (path: string) =>
      (await app.post(`${path}/commit`, { ...at, body: newFile("main") })).body["code"];
    expect(await commitTo(base)).to.equal("branch.protected");
    const gone = await app.delete(`${base}/branch?branchName=main`, at);
    expect(gone.body["code"]).to.equal("branch.protected");

    const company = `company-of-${alias}`;
    await app.post("/company", { token, body: { title: "C", alias: company } });
    const body = { ownerAlias: company, ownerAliasType: "COMPANY" };
    expect((await app.post(`${base}/transfer`, { token, body })).status).to.equal(200);
    expect(await commitTo(`/project/${company}/${alias}`)).to.equal("branch.protected");
  });

  it("is not lost by deleting and making the branch anew", async () => {
    await given.protect("branch", "stable", "DEVELOPER");
    await git(given.world.copy, "push", "--quiet", "origin", "side:refs/heads/stable");
    for (const user of [people.bob, people.anna]) {
      expect(await given.push(user, ":refs/heads/stable")).to.equal(false);
      expect(ok(await given.world.delete(user, "/branch?branchName=stable"))).to.equal(false);
      expect(await given.push(user, "--force", `${given.world.head}:refs/heads/stable`)).to.equal(
        false,
      );
    }
  });

  it("is checked at the moment of the change, not of the request before", async () => {
    expect(ok(await given.world.post(people.bob, "/commit", newFile("main")))).to.equal(true);
    await given.protect("branch", "main", "ADMINS");
    expect(ok(await given.world.post(people.bob, "/commit", newFile("main")))).to.equal(false);
  });

  it("does not bind a fork, and a fork does not loosen it", async () => {
    await given.protect("branch", "main", "NO_ONE");
    await app.post(given.world.at("/fork"), {
      token: people.bob.token,
      body: { alias: `f-${given.world.project.alias}` },
    });
    expect(await mayMove("main")).to.equal(false);
  });
});
