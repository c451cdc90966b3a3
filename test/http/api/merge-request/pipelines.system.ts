import { expect } from "chai";
import { pipelinesOf } from "../../../support/agent/pipeline-app.ts";
import { startTestApp, type TestUser } from "../../../support/app/app.ts";
import { git } from "../../../support/git/git.ts";
import { type Json, mergeWorlds } from "../../../support/git/merge-world.ts";

const app = await startTestApp();
const { people, world: newWorld } = await mergeWorlds(app);
const { anna, bob, carl } = people;
const yaml = { ".forge-ci.yaml": "build:\n  script: [make]\n" };

describe("the pipelines of a merge request", () => {
  it("are those of the commits it brings, newest first, also after the merge", async () => {
    const world = await newWorld();
    const ci = pipelinesOf(app, anna, world.project);
    const listed = async (query = "") => {
      const { body, text } = await world.get(carl, `/merge-request/1/pipelines${query}`);
      const { restPipelineModelList: list } = body["_embedded"] as Record<string, Json[]>;
      expect(list, text).to.be.an("array");
      return { ids: list?.map(({ localId }) => localId), page: body["page"] };
    };
    await world.push("main", yaml);
    await world.push("feature", yaml);
    await world.open();
    expect((await listed()).ids).to.deep.equal([]);
    const feature = { refName: "feature", isTag: false };
    await ci.start(feature);
    await ci.start();
    await world.push("feature", { "b.txt": "b\n" });
    await ci.start(feature);
    expect((await listed()).ids).to.deep.equal([3, 1]);
    const second = await listed("?size=1&page=1");
    expect(second.ids).to.deep.equal([1]);
    expect(second.page).to.include({ totalElements: 2 });
    const merged = await world.post(bob, "/merge-request/1/merge");
    expect(merged.status, merged.text).to.equal(200);
    expect((await listed()).ids).to.deep.equal([3, 1]);
    expect((await world.get(carl, "/merge-request/2/pipelines")).status).to.equal(404);
  });
});

describe("statuses that are reported in the fork that a request comes from", () => {
  it("count as a success only from developers of the target", async () => {
    const world = await newWorld();
    const root = await app.givenUser("root", { admin: true });
    const alias = "reports";
    const fork = await world.post(carl, "/fork", { ownerAlias: "carl", alias });
    const forkAt = (rest: string) => `/project/carl/${alias}${rest}`;
    await app.post(forkAt("/member/invite"), {
      token: carl.token,
      body: { userAlias: "bob", role: "DEVELOPER" },
    });
    const remote = Object.assign(new URL(forkAt(".git"), app.url), {
      ...{ username: "carl", password: carl.token },
    });
    await git(world.copy, "push", "--quiet", remote.href, "feature:work");
    const opened = await world.post(carl, "/merge-request", {
      ...{ title: "From a fork", sourceProject: { id: fork.body["id"] } },
      ...{ sourceBranch: { id: "work" }, targetBranch: { id: "main" } },
    });
    expect(opened.status, opened.text).to.equal(200);
    const configure = async (isDemanded: boolean) => {
      const body = {
        checkCiCdStatus: isDemanded,
        mergeResultPipelineStatusCheckEnabled: isDemanded,
      };
      const at = world.at("/merge-request/approval/configuration/edit");
      expect((await app.send("PATCH", at, { token: anna.token, body })).status).to.equal(200);
    };
    const head = (opened.body["sourceBranch"] as Json)["hash"];
    const report = async (at: (rest: string) => string, by: TestUser, body: Json) => {
      const answer = await app.post(at(`/commit/${head}/status`), { token: by.token, body });
      expect(answer.status, answer.text).to.equal(200);
    };
    const ok = (name: string) => ({ name, status: "SUCCESS" });
    const unmet = async () => {
      const { mergeRequirements } = (await world.get(anna, "/merge-request/1")).body;
      return Object.entries(mergeRequirements as Json).flatMap(([name, is]) => (is ? [] : [name]));
    };
    const both = ["LAST_PIPELINE_SUCCESS", "MERGE_RESULTS_PIPELINE_SUCCESS"];
    const account = (verb: string) =>
      app.post(`/admin/user/${bob.id}/account/${verb}`, { token: root.token });

    await configure(true);
    await report(forkAt, carl, ok("mine"));
    expect(await unmet()).to.deep.equal(both);
    await report(forkAt, bob, ok("theirs"));
    expect(await unmet()).to.deep.equal([]);
    await account("ban");
    expect(await unmet()).to.deep.equal(both);
    await account("unban");
    await world.delete(anna, "/member/bob");
    expect(await unmet()).to.deep.equal(both);
    await report(world.at, anna, ok("outside"));
    expect(await unmet()).to.deep.equal([]);
    await configure(false);
    await report(forkAt, carl, { name: "mine", status: "FAILED" });
    expect(await unmet()).to.deep.equal(both);
  });
});
