import { execFileSync } from "node:child_process";
import { createHash } from "node:crypto";
import { expect } from "chai";

import { type Answer, startTestApp } from "../../../support/app/app.ts";
import { commit, git } from "../../../support/git/git.ts";
import {
  givenPeople,
  type People,
  type RefWorld,
  refWorlds,
} from "../../../support/git/ref-world.ts";

const app = await startTestApp();
const newWorld = await refWorlds(app);
let people: People;
let world: RefWorld;
let head: string;

before(async () => {
  people = await givenPeople(app);
  world = await newWorld(people);
  head = await commit(world.copy, "Second", { "b.txt": "b\n" });
  await git(world.copy, "tag", "-a", "v1", "-m", "One");
  await git(world.copy, "branch", "topic");
  await git(world.copy, "push", "--quiet", "origin", "main", "topic", "v1");
});

const get = (rest: string): Promise<Answer> =>
  app.get(world.at(rest), { token: people.carl.token });
const names = (): readonly string[] => [
  head,
  head.toUpperCase(),
  head.slice(0, 7),
  head.slice(0, 12).toUpperCase(),
  head.slice(0, -1),
  "main",
  "refs/heads/topic",
  "v1",
  "refs/tags/v1",
  "HEAD",
];

/** Routes that take a commit, with their answers when it is found. */
const paths: readonly (readonly [string, (name: string) => string])[] = [
  ["a commit", (name) => `/commit/${name}`],
  ["the files of a commit", (name) => `/commit/${name}/file`],
  ["a diff", (name) => `/commit/${name}/diff?filePath=b.txt`],
  ["the last commit of a file", (name) => `/commit/${name}/for-file?filePath=b.txt`],
  ["a text", (name) => `/blob?file=b.txt&commitHash=${name}`],
  ["a file", (name) => `/blob/download?file=b.txt&commitHash=${name}`],
  ["a listing", (name) => `/blob/recursive?commitHash=${name}`],
  ["a history", (name) => `/commits?branch=${name}`],
  ["a comparison", (name) => `/branch/compare?base=${world.head}&compare=${name}`],
];

describe("the name of a commit", () => {
  for (const [what, path] of paths) {
    it(`is a hash, an abbreviation, a branch, a tag or HEAD for ${what}`, async () => {
      const wanted = (await get(path(head))).text;
      for (const name of names()) {
        const answer = await get(path(encodeURIComponent(name)));
        expect([answer.status, answer.text], name).to.deep.equal([200, wanted]);
      }
    });

    it(`is not what means nothing or something else for ${what}`, async () => {
      const nothing = [head.slice(0, 6), "main^", "main~1", ":b.txt", "--all", "heads/main", "@"];
      for (const name of [...nothing, "0".repeat(40), "0".repeat(8), `${head}0`, "refs/heads/v1"]) {
        const answer = await get(path(encodeURIComponent(name)));
        expect(answer.status, name).to.equal(404);
      }
    });
  }

  for (const [what, path] of paths.slice(1, 6)) {
    it(`makes ${what} immutable by a full hash alone`, async () => {
      const found = [];
      for (const name of [head, head.slice(0, 10), "main", "HEAD"]) {
        const { headers } = await get(path(name));
        found.push(/immutable/.test(headers.get("cache-control") ?? ""));
        expect(headers.get("etag"), name).not.to.equal(null);
      }
      expect(found).to.deep.equal([what !== "the last commit of a file", false, false, false]);
    });
  }

  it("is refused when several commits begin so", async () => {
    const tree = await git(world.copy, "rev-parse", "HEAD^{tree}");
    const args = [`--git-dir=${world.gitDir}`, "hash-object", "-t", "commit", "-w", "--stdin"];
    const [one, other] = alike(tree).map((input) =>
      execFileSync("git", args, { input }).toString().trim(),
    );
    const refused = await get(`/commit/${one?.slice(0, 7)}`);
    expect([refused.status, refused.body["code"]]).to.deep.equal([422, "commit.ambiguous"]);
    for (const id of [one, other]) expect((await get(`/commit/${id}`)).status).to.equal(200);
  });

  it("is where a branch, a tag and a pick begin as well", async () => {
    for (const [index, originBranch] of names().entries()) {
      const made = await world.post(people.bob, "/branch", {
        newBranch: `b${index}`,
        originBranch,
      });
      expect(made.status, made.text).to.equal(200);
      expect((made.body["lastCommit"] as { hash: string }).hash).to.equal(head);
    }
    const commitId = head.slice(0, 8);
    const tag = await world.post(people.bob, "/tag", { tagName: "t", commitId });
    expect(tag.body).to.include({ commitId: head });
    const onto = await world.post(people.bob, "/branch", {
      newBranch: "onto",
      originBranch: world.head.slice(0, 7),
    });
    expect(onto.status).to.equal(200);
    const picked = await world.post(people.bob, "/commit/v1/cherry-pick", { branchName: "onto" });
    expect(picked.status, picked.text).to.equal(200);
  });
});

/** Two commits of one tree whose ids share seven digits: some ten thousand tries away. */
function alike(tree: string): readonly string[] {
  const seen = new Map<string, string>();
  for (let count = 0; ; count += 1) {
    const person = `A <a@example.test> ${1_700_000_000 + count} +0000`;
    const text = `tree ${tree}\nauthor ${person}\ncommitter ${person}\n\nx\n`;
    const hash = createHash("sha1").update(`commit ${text.length}\0${text}`).digest("hex");
    const digits = hash.slice(0, 7);
    const before = seen.get(digits);
    if (before !== undefined) return [before, text];
    seen.set(digits, text);
  }
}
