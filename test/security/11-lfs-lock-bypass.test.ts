import { expect } from "chai";
import { startTestApp, type TestUser } from "../support/app/app.ts";
import { basicAuth } from "../support/app/basic-auth.ts";
import { commit, git, temporaryDirectory, workingCopy } from "../support/git/git.ts";

/** A locked file stays as it is on a branch, whichever way the branch moves. */
const app = await startTestApp();
const at = "/project/anna/forge";
let anna: TestUser;
let ben: TestUser;
let copy: string;
let first: string;
let second: string;

const remote = ({ alias, token }: TestUser) =>
  `${app.url.replace("//", `//${alias}:${token}@`)}${at}.git`;
const push = (...refs: readonly string[]) => git(copy, "push", "--quiet", remote(ben), ...refs);

before(async () => {
  anna = await app.givenUser("anna");
  ben = await app.givenUser("ben");
  await app.givenProject(anna, "forge");
  const body = { userAlias: "ben", role: "DEVELOPER" };
  const invited = await app.post(`${at}/member/invite`, { token: anna.token, body });
  expect(invited.status, invited.text).to.equal(200);
  copy = await workingCopy(await temporaryDirectory(), "copy");
  first = await commit(copy, "First", { "a.bin": "1", "b.txt": "1" });
  await git(copy, "push", "--quiet", remote(anna), `${first}:refs/heads/main`);
  await git(copy, "checkout", "--quiet", "-b", "side");
  await commit(copy, "Side", { "a.bin": "side" });
  await git(copy, "push", "--quiet", remote(anna), "side");
  await git(copy, "checkout", "--quiet", "main");
  second = await commit(copy, "Second", { "a.bin": "2", "b.txt": "2" });
  await git(copy, "push", "--quiet", remote(anna), `${second}:refs/heads/main`);
  const locked = await app.post(`${at}.git/info/lfs/locks`, {
    headers: {
      authorization: basicAuth("anna", anna.token),
      "content-type": "application/vnd.git-lfs+json",
    },
    body: JSON.stringify({ path: "a.bin" }),
  });
  expect(locked.status, locked.text).to.equal(201);
});

describe("a file that another has locked", () => {
  const refused = /a\.bin is locked by anna/;

  it("is not set back with its branch", async () => {
    await expect(push(`+${first}:refs/heads/main`)).to.be.rejectedWith(refused);
  });

  it("is not replaced by a merge that takes one side whole", async () => {
    await git(copy, "checkout", "--quiet", "--detach", second);
    await git(copy, "merge", "--quiet", "--no-edit", "-s", "ours", "side");
    await git(copy, "checkout", "--quiet", "side", "--", "a.bin");
    await git(copy, "commit", "--quiet", "--amend", "--no-edit");
    await expect(push("HEAD:refs/heads/main")).to.be.rejectedWith(refused);
  });

  it("is not replaced by moving a branch to another one", async () => {
    await expect(push("+side:refs/heads/main")).to.be.rejectedWith(refused);
  });

  it("lets branches move that leave it as it is", async () => {
    await git(copy, "checkout", "--quiet", "--detach", second);
    await commit(copy, "Third", { "b.txt": "3" });
    await push("HEAD:refs/heads/main");
    await push(`+${second}:refs/heads/main`, `${first}:refs/heads/new`);
  });
});
