import { expect } from "chai";

import { codeOf } from "../../../support/app/answer.ts";
import { startTestApp } from "../../../support/app/app.ts";
import type { Json } from "../../../support/app/issue.ts";
import { commit as commitLocally, git } from "../../../support/git/git.ts";
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
let start = "";
let then = "";
let head = "";

const now = async () => String(await app.head());
const get = (at: string, asOf?: string) => {
  const query = asOf === undefined ? "" : `${at.includes("?") ? "&" : "?"}asOf=${asOf}`;
  return app.get(world.at(at + query), { token: people.anna.token });
};
const post = async (at: string, body: object) => {
  const answer = await world.post(people.anna, at, body);
  expect(answer.status, answer.text).to.equal(200);
  return answer.body;
};
const commit = (branch: string, content: string) => {
  const actions = [{ action: "UPDATE", path: "a.txt", content }];
  return post("/commit", { branch, message: content, actions });
};
const listed = (body: Json, list: string) => (body["_embedded"] as Record<string, Json[]>)[list]!;

describe("branches, tags and files at a time", () => {
  before(async () => {
    people = await givenPeople(app);
    world = await newWorld(people);
    start = await now();
    await post("/branch", { newBranch: "short-lived" });
    head = String((await commit("short-lived", "then\n"))["hash"]);
    await post("/tag/create", { tagName: "v1", branchName: "short-lived" });
    then = await now();
    await commit("main", "later\n");
    await commit("short-lived", "later\n");
  });

  it("are where they were", async () => {
    const { body } = await get("/branch?branchName=short-lived", then);
    expect((body["lastCommit"] as Json)["hash"]).to.equal(head);
    expect(listed((await get("/branch", then)).body, "branchList")).to.have.length(2);
    expect(listed((await get("/branch", start)).body, "branchList")).to.have.length(1);
    expect(listed((await get("/tag", then)).body, "tagList")).to.have.length(1);
    expect(listed((await get("/tag", start)).body, "tagList")).to.have.length(0);
    const commits = listed((await get("/commits?branch=short-lived", then)).body, "commitList");
    expect(commits[0]?.["hash"]).to.equal(head);
    const main = await get("/branch/default", then);
    expect((main.body["lastCommit"] as Json)["hash"]).to.equal(commits[1]?.["hash"]);
  });

  it("give the files that they had, also under a name that means another commit now", async () => {
    const file = "/blob?file=a.txt&commitHash=short-lived";
    expect((await get(file, then)).text).to.equal("then\n");
    expect((await get(file)).text).to.equal("later\n");
    expect((await get("/blob/recursive?commitHash=short-lived", then)).status).to.equal(200);
    expect(codeOf(await get(file, start))).to.deep.equal([404, "commit.not_found"]);
  });

  it("show what a branch had changed, and how large a file was", async () => {
    const compared = async (asOf?: string) =>
      (await get("/branch/compare?base=main&compare=short-lived", asOf)).body as unknown as Json[];
    expect(await compared(then)).to.have.length(1);
    const size = async (asOf?: string) => {
      const query = `filepath=a.txt&branchName=short-lived${asOf ? `&asOf=${asOf}` : ""}`;
      const path = `/project/${world.project.id}/file-size?${query}`;
      return (await app.get(path, { token: people.anna.token })).text;
    };
    expect([await size(then), await size()]).to.deep.equal(['"5 bytes"', '"6 bytes"']);
  });

  it("are there although they were deleted since", async () => {
    expect((await world.delete(people.anna, "/tag/v1")).status).to.equal(200);
    expect(codeOf(await get("/tag/v1"))).to.deep.equal([404, "tag.not_found"]);
    expect((await get("/tag/v1", then)).body["commitId"]).to.equal(head);
  });

  it("answer 404 when the repository no longer holds the commit", async () => {
    await git(world.copy, "checkout", "--quiet", "-b", "gone");
    const gone = await commitLocally(world.copy, "Gone", { "a.txt": "gone\n" });
    await git(world.copy, "push", "--quiet", "origin", "gone");
    await git(world.copy, "checkout", "--quiet", "-b", "seen");
    const seen = await commitLocally(world.copy, "Seen", { "a.txt": "seen\n" });
    await git(world.copy, "push", "--quiet", "origin", "seen");
    // Seen before, the commit itself is kept by the process that answers.
    expect((await get(`/commit/${seen}`)).status).to.equal(200);
    const position = await now();
    for (const name of ["gone", "seen"]) {
      const { status } = await world.delete(people.anna, `/branch?branchName=${name}`);
      expect(status).to.equal(200);
    }
    await git(world.gitDir, "--git-dir=.", "reflog", "expire", "--expire=now", "--all");
    await git(world.gitDir, "--git-dir=.", "gc", "--quiet", "--prune=now");
    const compared = "/branch/compare?base=main&compare=gone";
    for (const at of ["/commits?branch=gone", "/blob?file=a.txt&commitHash=gone", compared]) {
      const answer = await get(at, position);
      expect(codeOf(answer)).to.deep.equal([404, "commit.gone"]);
      expect(answer.text).to.include(gone);
    }
    const ofSeen = await get("/commits?branch=seen", position);
    expect(codeOf(ofSeen)).to.deep.equal([404, "commit.gone"]);
    const { status, body } = await get("/branch?branchName=gone", position);
    expect([status, body["lastCommit"], body["merged"]]).to.deep.equal([200, null, false]);
    expect((await get("/branch", position)).status).to.equal(200);
  });
});
