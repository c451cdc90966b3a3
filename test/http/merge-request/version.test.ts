import { expect } from "chai";

import { startTestApp } from "../../support/app.ts";
import { git, temporaryDirectory, tryGit } from "../../support/git.ts";
import { expectOk, type Json } from "../../support/issue.ts";
import { mergeWorlds } from "../../support/merge-world.ts";

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
