import { execFileSync } from "node:child_process";
import { expect } from "chai";

import { startTestApp } from "../../support/app/app.ts";
import { commit, git, temporaryDirectory, workingCopy } from "../../support/git/git.ts";

/** The pusher chooses the dates of commits; every list that shows them still answers. */
const app = await startTestApp();
const anna = await app.givenUser("anna");
await app.givenProject(anna, "forge");
const at = "/project/anna/forge";
let far: string;

before(async () => {
  const copy = await workingCopy(await temporaryDirectory(), "copy");
  const parent = await commit(copy, "First", { "a.txt": "a\n" });
  const tree = (await git(copy, "rev-parse", "HEAD^{tree}")).trim();
  const year30000 = 884_541_600_000;
  const who = `Far <far@example.org> ${year30000} +0000`;
  const text = `tree ${tree}\nparent ${parent}\nauthor ${who}\ncommitter ${who}\n\nFar\n`;
  const options = { cwd: copy, input: text };
  far = execFileSync("git", ["hash-object", "-t", "commit", "-w", "--stdin"], options)
    .toString()
    .trim();
  const tag = `object ${far}\ntype commit\ntag v1\ntagger ${who}\n\nFar\n`;
  const tagId = execFileSync("git", ["hash-object", "-t", "tag", "-w", "--stdin"], {
    cwd: copy,
    input: tag,
  });
  const remote = `${app.url.replace("//", `//anna:${anna.token}@`)}${at}.git`;
  const refs = [`${far}:refs/heads/main`, `${String(tagId).trim()}:refs/tags/v1`];
  await git(copy, "push", "--quiet", remote, ...refs);
});

describe("a commit of the year 30000", () => {
  for (const path of ["/commits", "/branch", "/tag"]) {
    it(`is shown by ${path}`, async () => {
      const answer = await app.get(at + path, { token: anna.token });
      expect(answer.status, answer.text).to.equal(200);
    });
  }

  it("is shown by itself with the last date there is", async () => {
    const answer = await app.get(`${at}/commit/${far}`, { token: anna.token });
    expect(answer.status, answer.text).to.equal(200);
    expect(answer.body["createdAt"]).to.equal("9999-12-31T23:59:59.000Z");
  });
});
