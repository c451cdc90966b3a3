import { expect } from "chai";
import { findJob } from "../../../src/projections/pipeline/query.ts";
import { withNewestSource } from "../../../src/services/merge-request/source.ts";
import { mergeRequestVariables } from "../../../src/services/pipeline/merge-request-variable.ts";
import { jobPayload } from "../../../src/services/pipeline/payload.ts";
import { git } from "../../support/git/git.ts";
import { givenRequestPipelines } from "../../support/merge-request/request-pipelines.ts";

const { app, newWorld, anna, bob, deps, given, eventsOf, work, rowOf, pushAs } =
  await givenRequestPipelines();

const listed = async (ci: Awaited<ReturnType<typeof given>>["ci"]) =>
  (await ci.pipelines()).map(({ userId }) => userId);

describe("the step that starts the pipeline of a merge request", () => {
  it("runs what another person pushed in between with the rights of that person alone", async () => {
    const { world, ci } = await given();
    await world.open();
    const source = await pushAs(world, bob, "between.txt");
    await withNewestSource(deps, await rowOf(world));
    const [opening] = await eventsOf(world, "LocalIdAssigned");
    await work(opening);
    expect(await listed(ci)).to.deep.equal([]);
    const moved = (await eventsOf(world, "MergeRequestSourceMoved")).at(-1);
    expect(moved?.data["sourceCommit"]).to.equal(source);
    await work(moved);
    expect(await listed(ci)).to.deep.equal([bob.id]);
  });
});

describe("variables of a merge request", () => {
  it("are what it shows, and the last commit that both of its branches have", async () => {
    const { world, ci } = await given();
    const rule = {
      branchTemplate: "main",
      allowedToPush: "DEVELOPER",
      allowedToMerge: "DEVELOPER",
    };
    const made = await world.post(anna, "/branch-protection/create", rule);
    expect(made.status, made.text).to.equal(200);
    const label = await world.post(anna, "/label", { title: "Fast track", hexColor: "#00ff00" });
    const chosen = { labels: [{ id: label.body["id"] }], assignedUsers: [{ id: bob.id }] };
    await world.open({ ...chosen, description: "d".repeat(3_000), squashCommit: true });
    const base = await git(world.copy, "merge-base", "main", "feature");
    await work((await eventsOf(world, "LocalIdAssigned"))[0]);
    const [{ localId }] = (await ci.pipelines()) as [{ localId: number }];
    const [job] = await ci.jobs(localId);
    const row = (await findJob(app.deps.db, world.project.id, Number(job!["localId"])))!;
    const { variables } = (await jobPayload(app.deps, row, "token"))!;
    expect(Object.fromEntries(variables.map(({ key, value }) => [key, value]))).to.include({
      CI_MERGE_REQUEST_DIFF_BASE_SHA: base,
      CI_MERGE_REQUEST_LABELS: "Fast track",
      CI_MERGE_REQUEST_ASSIGNEES: "bob",
      CI_MERGE_REQUEST_DESCRIPTION: "d".repeat(2_700),
      CI_MERGE_REQUEST_DESCRIPTION_IS_TRUNCATED: "true",
      CI_MERGE_REQUEST_SQUASH_ON_MERGE: "true",
      CI_MERGE_REQUEST_SOURCE_BRANCH_PROTECTED: "false",
      CI_MERGE_REQUEST_TARGET_BRANCH_PROTECTED: "true",
    });
  });

  it("reveal nothing to a fork of a private project once its owner or the person was shut out", async () => {
    const world = await newWorld();
    await world.open();
    const row = await rowOf(world);
    const variablesFor = async (owner: string, userId: string) => {
      const id = "00000000-0000-4000-8000-000000000000";
      const project = { id, owner_alias: "bob", alias: "a-fork", owner_user_id: owner };
      const mergeRequest = {
        ...{ localId: row.local_id, sourceBranch: "feature", targetBranch: "main" },
        ...{ mergeRequestId: row.id, projectId: row.project_id },
      };
      const origin = { isTag: false, ref: "main", userId, mergeRequest } as never;
      const all = await mergeRequestVariables(app.deps, project as never, origin);
      return [all.get("CI_MERGE_REQUEST_TITLE"), all.get("CI_MERGE_REQUEST_PROJECT_PATH")];
    };
    const known = ["Feature", `anna/${world.project.alias}`];
    const stranger = await app.givenUser("dora");
    expect(await variablesFor(bob.id, bob.id)).to.deep.equal(known);
    const hidden = await app.put(world.at("/setting/visibility"), {
      token: anna.token,
      body: { isPrivate: true },
    });
    expect(hidden.status, hidden.text).to.equal(200);
    expect(await variablesFor(bob.id, bob.id)).to.deep.equal(known);
    expect(await variablesFor(stranger.id, bob.id)).to.deep.equal([undefined, undefined]);
    expect(await variablesFor(bob.id, stranger.id)).to.deep.equal([undefined, undefined]);
  });
});
