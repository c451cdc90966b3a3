import { expect } from "chai";

import { startTestApp } from "../../../support/app/app.ts";
import { newKey, registerKey } from "../../../support/client/ssh.ts";
import { commit, git, temporaryDirectory, tryGit, workingCopy } from "../../../support/git/git.ts";
import { needsProgram } from "../../../support/process/program.ts";
import { spawnedWhile } from "../../../support/process/spawned.ts";

const app = await startTestApp();
const parent = await temporaryDirectory();
const anna = await app.givenUser("anna");
await app.givenProject(anna, "project", { private: false });
const base = "/project/anna/project";

const canSign = needsProgram("ssh-keygen");
before(async () => {
  if (!canSign) return;
  const copy = await workingCopy(parent, "copy");
  const key = await newKey(parent, "anna-signs");
  await registerKey(app, anna, key);
  await commit(copy, "First", { "a.txt": "a\n" });
  const as = ["-c", "gpg.format=ssh", "-c", `user.signingKey=${key}.pub`];
  for (const name of ["one", "two"]) {
    const environment = { GIT_COMMITTER_EMAIL: "anna@example.org" };
    const args = [...as, "commit", "-S", "--allow-empty", "-qm", `Signed ${name}`];
    expect((await tryGit(copy, args, environment)).exitCode).to.equal(0);
    await git(copy, "tag", "-a", `v-${name}`, "-m", `Tag ${name}`);
    await git(copy, "tag", `light-${name}`);
    await git(copy, "branch", `branch-${name}`);
  }
  const url = `${app.url.replace("//", `//anna:${anna.token}@`)}${base}.git`;
  await git(copy, "push", "--quiet", url, "--all");
  await git(copy, "push", "--quiet", url, "--tags");
});

const get = async (rest: string) => {
  const { status, text } = await app.get(`${base}${rest}`, { token: anna.token });
  expect(status, text).to.equal(200);
  return text;
};

describe("lists that are requested again", () => {
  for (const [list, shows] of [
    ["/commits", '"verified":true'],
    ["/commits?path=a.txt", "First"],
    ["/tag", "Tag two"],
    ["/branch", "branch-two"],
    ["/branch/default", "Signed two"],
  ] as const) {
    it(`${list} start no process`, async () => {
      expect(await get(list)).to.contain(shows);
      const started = await spawnedWhile(async () => {
        for (let count = 0; count < 3; count += 1) await get(list);
      });
      expect(started).to.deep.equal([]);
    });
  }

  it("/commits of signed commits start none in another process either", async () => {
    expect(await get("/commits")).to.contain('"verified":true');
    const kept = await app.platform.db("public.signature_check");
    expect(kept.map(({ kind }) => kind)).to.deep.equal(["good", "good"]);
  });

  it("would be seen to start one", async () => {
    const started = await spawnedWhile(() => get("/commits?path=never-asked-for"));
    expect(started.join("\n")).to.contain("rev-list");
  });
});
