import { expect } from "chai";
import { findJob } from "../../../../src/projections/pipeline/query.ts";
import { jobPayload } from "../../../../src/services/pipeline/payload.ts";
import { pipelinesOf } from "../../../support/agent/pipeline-app.ts";
import { eventually } from "../../../support/app/eventually.ts";
import { commit, git } from "../../../support/git/git.ts";
import type { Json, MergeWorld } from "../../../support/git/merge-world.ts";
import { files, givenResults } from "../../../support/merge-request/results.ts";

const { app, newWorld, anna, bob, carl, given, listed, nextPipeline } = await givenResults();

/** What the first job of a pipeline is given, once it has its number. */
const variablesOf = (projectId: string, jobs: () => Promise<readonly Json[]>) =>
  eventually(async () => {
    const [job] = await jobs();
    const row = await findJob(app.deps.db, projectId, Number(job?.["localId"]));
    const payload = row && (await jobPayload(app.deps, row, "job token"));
    if (payload === undefined) throw new Error("the job has no number yet");
    return Object.fromEntries(payload.variables.map(({ key, value }) => [key, value]));
  });

const requirements = async (world: MergeWorld) =>
  (await world.get(bob, "/merge-request/1")).body["mergeRequirements"];

describe("the pipeline of a merge request", () => {
  it("runs on the result of the merge, for each version of the source, and decides about it", async () => {
    const { world, ci } = await given();
    const configuration = world.at("/merge-request/approval/configuration/edit");
    const demand = { mergeResultPipelineStatusCheckEnabled: true };
    await app.send("PATCH", configuration, { token: anna.token, body: demand });
    await world.open();
    const first = await nextPipeline(world);
    expect(first).to.include({ ref: "refs/merge-requests/1/merge", userId: anna.id });
    await eventually(async () =>
      expect(await ci.statuses(first["localId"])).to.deep.equal({ check: "PENDING" }),
    );

    const source = await world.push("feature", { "b.txt": "b\n" });
    const second = await nextPipeline(world, first);
    await eventually(async () =>
      expect(await ci.pipeline(first["localId"])).to.include({ status: "CANCELED" }),
    );
    const commitId = String(second["commitId"]);
    await git(world.copy, "fetch", "--quiet", "origin", "refs/merge-requests/1/merge");
    expect(await git(world.copy, "rev-parse", "FETCH_HEAD")).to.equal(commitId);
    const parents = await git(world.copy, "rev-parse", `${commitId}^1`, `${commitId}^2`);
    const target = await git(world.copy, "rev-parse", "main");
    expect(parents.split("\n")).to.deep.equal([target, source]);

    const jobs = () => ci.jobs(second["localId"]);
    expect(await variablesOf(world.project.id, jobs)).to.include({
      CI_PIPELINE_SOURCE: "merge_request_event",
      CI_COMMIT_SHA: commitId,
      CI_COMMIT_REF_NAME: "feature",
      CI_MERGE_REQUEST_IID: "1",
      CI_MERGE_REQUEST_TITLE: "Feature",
      CI_MERGE_REQUEST_EVENT_TYPE: "merged_result",
      CI_MERGE_REQUEST_SOURCE_BRANCH_NAME: "feature",
      CI_MERGE_REQUEST_SOURCE_BRANCH_SHA: source,
      CI_MERGE_REQUEST_TARGET_BRANCH_NAME: "main",
      CI_MERGE_REQUEST_TARGET_BRANCH_SHA: target,
      CI_MERGE_REQUEST_PROJECT_ID: world.project.id,
      CI_OPEN_MERGE_REQUESTS: `anna/${world.project.alias}!1`,
    });
    expect(await requirements(world)).to.include({ MERGE_RESULTS_PIPELINE_SUCCESS: false });
    await eventually(async () => {
      const row = await ci.claim();
      if (row !== undefined) {
        await ci.report(row, "RecordJobStarted");
        await ci.report(row, "RecordJobSucceeded");
      }
      return expect((await ci.pipeline(second["localId"]))["status"]).to.equal("SUCCESS");
    });
    await eventually(async () =>
      expect(await requirements(world)).to.include({ MERGE_RESULTS_PIPELINE_SUCCESS: true }),
    );

    await world.push("main", { "c.txt": "c\n" });
    await eventually(async () =>
      expect(await requirements(world)).to.include({ MERGE_RESULTS_PIPELINE_SUCCESS: false }),
    );
    expect((await world.post(carl, "/merge-request/1/pipelines")).status).to.equal(403);
    const again = await world.post(bob, "/merge-request/1/pipelines");
    expect(again.status, again.text).to.equal(200);
    expect(again.body).to.include({ source: "MERGE_REQUEST_EVENT", userId: bob.id });
    expect(again.body["commitId"]).not.to.equal(commitId);
  });

  for (const [kind, rules, branch, request] of [
    ["its branch", "", true, false],
    ["the request", '{if: $CI_PIPELINE_SOURCE == "merge_request_event"}', false, true],
  ] as const) {
    it(`of ${kind} alone is what the flag for that kind demands`, async () => {
      const world = await newWorld();
      const ci = pipelinesOf(app, anna, world.project);
      const job = `check:\n  script: x\n${rules && `  rules: [${rules}]\n`}`;
      await world.push("feature", { ".forge-ci.yaml": job });
      await world.open();
      await ci.run();
      const met = async (flag: string) => {
        const at = world.at("/merge-request/approval/configuration/edit");
        const change = async (isOn: boolean) =>
          app.send("PATCH", at, { token: anna.token, body: { [flag]: isOn } });
        await change(true);
        const { LAST_PIPELINE_SUCCESS } = (await requirements(world)) as Json;
        await change(false);
        return LAST_PIPELINE_SUCCESS;
      };
      await eventually(async () => expect(await met("checkCiCdStatus")).to.equal(true));
      expect(await met("branchPipelineStatusCheckEnabled")).to.equal(branch);
      expect(await met("mergeRequestPipelineStatusCheckEnabled")).to.equal(request);
    });
  }

  it("has protected variables only when both branches are protected", async () => {
    const { world, ci } = await given();
    const body = { key: "GUARDED", value: "x", protected: true };
    await world.post(anna, "/setting/cicd/variable", body);
    const protect = (branchTemplate: string) =>
      world.post(anna, "/branch-protection/create", {
        ...{ branchTemplate, allowedToPush: "DEVELOPER", allowedToMerge: "DEVELOPER" },
      });
    // Rules that fit the name of the ref, but not the source.
    await protect("refs/**");
    await protect("main");
    await world.open();
    const pipeline = await nextPipeline(world);
    const jobs = () => ci.jobs(pipeline["localId"]);
    expect(await variablesOf(world.project.id, jobs)).not.to.have.property("GUARDED");
    await protect("feature");
    expect(await variablesOf(world.project.id, jobs)).to.have.property("GUARDED");
  });

  it("of a fork runs in the fork, without anything of the target", async () => {
    const { world } = await given();
    await world.push("main", files);
    for (const key of ["TARGET_ONLY", "GUARDED"]) {
      const body = { key, value: "x", protected: key === "GUARDED" };
      await world.post(anna, "/setting/cicd/variable", body);
    }
    const alias = `fork-${world.project.alias}`;
    const fork = await world.post(carl, "/fork", { ownerAlias: "carl", alias });
    expect(fork.status, fork.text).to.equal(200);
    const forkId = String(fork.body["id"]);
    const remote = new URL(`/project/carl/${alias}.git`, app.url);
    Object.assign(remote, { username: "carl", password: carl.token });
    await git(world.copy, "checkout", "--quiet", "-b", "theirs", "main");
    const head = await commit(world.copy, "Theirs", { "f.txt": "f\n" });
    await git(world.copy, "push", "--quiet", remote.href, "theirs:work");
    const token = carl.token;
    const own = { key: "FORK_ONLY", value: "y" };
    const at = `/project/carl/${alias}`;
    expect((await app.post(`${at}/setting/cicd/variable`, { token, body: own })).status).to.equal(
      200,
    );
    const opened = await world.post(carl, "/merge-request", {
      title: "From a fork",
      ...{ sourceBranch: { id: "work" }, targetBranch: { id: "main" } },
      sourceProject: { id: forkId },
    });
    expect(opened.status, opened.text).to.equal(200);
    const pipeline = await eventually(async () => {
      const [newest] = await listed(world, carl);
      expect(newest).to.include({ projectId: forkId, commitId: head, userId: carl.id });
      expect(newest?.["localId"]).to.be.a("number").greaterThan(0);
      return newest!;
    });
    const variables = await variablesOf(forkId, async () => {
      const page = await app.get(`${at}/cicd/pipeline/${pipeline["localId"]}/jobs`, { token });
      return (page.body["_embedded"] as { restPipelineJobModelList: Json[] })
        .restPipelineJobModelList;
    });
    expect(variables).to.include({ FORK_ONLY: "y", CI_PROJECT_ID: forkId });
    expect(variables["CI_MERGE_REQUEST_PROJECT_ID"]).to.equal(world.project.id);
    expect(variables).not.to.have.any.keys("TARGET_ONLY", "GUARDED");
    // A developer of the target has no rights in the fork.
    expect((await world.post(bob, "/merge-request/1/pipelines")).status).to.equal(403);
  });
});
