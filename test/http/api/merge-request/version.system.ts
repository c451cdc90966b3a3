import { expect } from "chai";

import { codeOf } from "../../../support/app/answer.ts";
import { startTestApp } from "../../../support/app/app.ts";
import { expectOk, type Json } from "../../../support/app/issue.ts";
import { loggedIn } from "../../../support/app/site-world.ts";
import { git, temporaryDirectory, tryGit } from "../../../support/git/git.ts";
import { mergeWorlds } from "../../../support/git/merge-world.ts";

const app = await startTestApp();
const { people, world: newWorld } = await mergeWorlds(app);
const { anna, bob, carl } = people;

describe("the earlier versions of a merge request", () => {
  it("can be fetched by their hashes after a force push, by readers alone", async () => {
    const world = await newWorld();
    const first = await world.push("feature", { "first.txt": "1\n" });
    await world.open();
    await git(world.copy, "checkout", "--quiet", "feature");
    await git(world.copy, "reset", "--quiet", "--hard", "main");
    const second = await world.push("feature", { "second.txt": "2\n" });
    const { sourceBranch } = expectOk(await world.get(bob, "/merge-request/1"));
    expect((sourceBranch as Json)["hash"]).to.equal(second);
    // Upkeep drops nothing that no ref reaches.
    await (await app.platform.git.find(world.project.id))!.maintain();
    const elsewhere = await temporaryDirectory();
    await git(elsewhere, "init", "--quiet");
    await git(elsewhere, "fetch", "--quiet", world.remote(carl), first);
    expect(await git(elsewhere, "rev-parse", "FETCH_HEAD")).to.equal(first);
    expect(await git(elsewhere, "show", `${first}:first.txt`)).to.equal("1");
    await world.delete(anna, "/member/carl");
    const refused = await tryGit(elsewhere, ["fetch", "--quiet", world.remote(carl), first]);
    expect(refused.exitCode).not.to.equal(0);
  });
});

describe("the version that was viewed", () => {
  it("alone is approved and merged where the body names it", async () => {
    const world = await newWorld();
    const seen = (await world.open())["sourceBranch"] as Json;
    const post = async (rest: string, body: Json) =>
      codeOf(await world.post(bob, `/merge-request/1${rest}`, body));
    const pushed = await world.push("feature", { "unseen.txt": "1\n" });
    const main = (await world.refs()).get("refs/heads/main");
    for (const body of [{ sha: seen["hash"] }, { sha: main }]) {
      expect(await post("/approve", body)).to.deep.equal([409, "merge_request.changed"]);
      expect(await post("/merge", body)).to.deep.equal([409, "merge_request.changed"]);
    }
    for (const sha of [pushed.slice(0, 12), pushed.toUpperCase(), ""]) {
      expect((await post("/approve", { sha }))[0]).to.equal(422);
      expect((await post("/merge", { sha }))[0]).to.equal(422);
    }
    expect((await world.refs()).get("refs/heads/main")).to.equal(main);
    for (const rest of ["/approve", "/merge"]) {
      const answer = await world.post(bob, `/merge-request/1${rest}`, { sha: pushed });
      expect(answer.status, answer.text).to.equal(200);
    }
    const approvals = expectOk(await world.get(bob, "/merge-request/1/approvals"));
    const { mergeRequestApprovalList: list } = approvals["_embedded"] as Record<string, Json[]>;
    expect(list?.map(({ commitId }) => commitId)).to.deep.equal([pushed]);
    expect(await post("/merge", { sha: seen["hash"] })).to.deep.equal([422, "merge_request.final"]);
  });

  it("alone waits for its pipelines", async () => {
    const world = await newWorld();
    const seen = (await world.open())["sourceBranch"] as Json;
    await world.push("feature", { "unseen.txt": "1\n" });
    const demanded = { checkCiCdStatus: true };
    const at = world.at("/merge-request/approval/configuration/edit");
    await app.send("PATCH", at, { token: anna.token, body: demanded });
    const wait = { mergeWhenPipelineSucceeds: true };
    const waiting = (body: Json) => world.post(bob, "/merge-request/1/merge", { ...wait, ...body });
    const refused = await waiting({ sha: seen["hash"] });
    expect(codeOf(refused), refused.text).to.deep.equal([409, "merge_request.changed"]);
    expect(expectOk(await waiting({}))).to.include({ mergeWhenPipelineSucceeds: true });
  });

  it("alone is approved and merged by the forms of its page", async () => {
    const world = await newWorld();
    await world.open();
    const at = world.at("/merge-request/1");
    const visitor = await loggedIn(app, bob);
    const before = await visitor.see(at);
    await world.push("feature", { "unseen.txt": "1\n" });
    const now = await visitor.see(at);
    for (const verb of ["approve", "merge"]) {
      const stale = await visitor.submit(before, `/page${at}/${verb}`);
      expect([verb, stale.status]).to.deep.equal([verb, 409]);
      expect(stale.text).to.contain("Look at it again.");
      // The form that is shown with the reason is still of what was seen.
      expect((await visitor.submit(stale, `/page${at}/${verb}`)).status).to.equal(409);
      expect((await visitor.submit(now, `/page${at}/${verb}`)).status).to.equal(303);
    }
    const { status } = expectOk(await world.get(bob, "/merge-request/1"));
    expect((status as Json)["id"]).to.equal("MERGED");
  });
});
