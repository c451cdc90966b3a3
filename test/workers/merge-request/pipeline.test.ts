import { randomUUID } from "node:crypto";
import { expect } from "chai";

import type { Recorded } from "../../../src/events/core/event.ts";
import { localIdEvents } from "../../../src/events/core/local-id.ts";
import { findMergeRequest } from "../../../src/projections/merge-request/merge-request-query.ts";
import { allJobs, findJob } from "../../../src/projections/pipeline/query.ts";
import {
  mergeRequestPipeline,
  mergeRequestPipelineWorker,
  startedByPushMax,
  startMergeRequestPipeline,
} from "../../../src/workers/merge-request/pipeline.ts";
import { withNewestSource } from "../../../src/workers/merge-request/source.ts";
import { findJobRun, pipelineFacts } from "../../../src/workers/pipeline/job-run.ts";
import { mergeRequestVariables } from "../../../src/workers/pipeline/merge-request-variable.ts";
import { jobPayload } from "../../../src/workers/pipeline/payload.ts";
import { pipelinesOf } from "../../support/agent/pipeline-app.ts";
import { startTestApp } from "../../support/app/app.ts";
import { metadataFor } from "../../support/app/history.ts";
import { git } from "../../support/git/git.ts";
import { type MergeWorld, mergeWorlds } from "../../support/git/merge-world.ts";

// Without workers: what they do, and when, is said here.
const app = await startTestApp();
const { people, world: newWorld } = await mergeWorlds(app);
const { anna, bob } = people;
const warnings: unknown[] = [];
const log = { ...app.deps.log, warn: (line: unknown) => warnings.push(line) };
const deps = { ...app.deps, log, outbound: undefined as never, proxy: undefined as never } as never;
const files = { ".forge-ci.yaml": "workflow: {rules: [{when: always}]}\ncheck: {script: x}" };

async function given() {
  const world = await newWorld();
  await world.push("main", { "main.txt": "main\n" });
  const source = await world.push("feature", files);
  return { world, source, ci: pipelinesOf(app, anna, world.project) };
}

/** Events of a type, in the order of the log. */
async function eventsOf(world: MergeWorld, type: string): Promise<readonly Recorded[]> {
  const found: Recorded[] = [];
  for await (const event of app.deps.store.readAll()) {
    if (event.type !== type) continue;
    const opened = type === "LocalIdAssigned" ? localIdEvents[type].parse(event.data) : undefined;
    if (opened && (opened.kind !== "MERGE_REQUEST" || opened.projectId !== world.project.id))
      continue;
    found.push(event);
  }
  return found;
}

/** Runs the worker for an event, on each call. */
async function work(event: Recorded | undefined): Promise<void> {
  for (const { data } of await mergeRequestPipeline.react(event!, deps)) {
    await mergeRequestPipelineWorker.runJob(data, deps, new AbortController().signal);
  }
}

const rowOf = async (world: MergeWorld, localId = 1) =>
  (await findMergeRequest(app.deps.db, world.project.id, localId))!;

async function pushAs(world: MergeWorld, user: typeof bob, file: string): Promise<string> {
  await git(world.copy, "checkout", "--quiet", "feature");
  await git(world.copy, "commit", "--quiet", "--allow-empty", "-m", `Add ${file}`);
  await git(world.copy, "push", "--quiet", world.remote(user), "feature");
  return git(world.copy, "rev-parse", "HEAD");
}

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

  it("keeps the merge that it recorded, wherever the branches stand when it is repeated", async () => {
    const { world, ci } = await given();
    await world.open();
    const [opening] = await eventsOf(world, "LocalIdAssigned");
    await work(opening);
    const [first] = await ci.pipelines();
    const merge = async () => git(world.gitDir, "rev-parse", "refs/merge-requests/1/merge");
    expect(await merge()).to.equal(first!["commitId"]);
    await world.push("main", { "later.txt": "later\n" });
    await work(opening);
    expect(await merge()).to.equal(first!["commitId"]);
    await pushAs(world, bob, "later");
    await withNewestSource(deps, await rowOf(world));
    await work(opening);
    expect(await ci.pipelines()).to.have.length(1);
    expect((await ci.pipelines())[0]).to.include({ commitId: first!["commitId"] });
  });

  it("leaves the merge of a request where it is, also before the request shows it", async () => {
    const { world, ci } = await given();
    await world.open();
    const row = await rowOf(world);
    const merged = await world.post(anna, "/merge-request/1/merge", { squashCommit: true });
    expect(merged.status, merged.text).to.equal(200);
    const ref = "refs/merge-requests/1/merge";
    const commitId = await git(world.gitDir, "rev-parse", ref);
    const wanted = { userId: anna.id, metadata: metadataFor(randomUUID()) };
    await startMergeRequestPipeline(deps, row, wanted);
    expect(await git(world.gitDir, "rev-parse", ref)).to.equal(commitId);
    const [started] = await ci.pipelines();
    expect(started).to.include({ ref: "refs/merge-requests/1/head" });
  });

  it("runs on another result once a former one was pushed to the target", async () => {
    const { world } = await given();
    await world.open();
    const ref = "refs/merge-requests/1/merge";
    const start = async () => {
      const wanted = { userId: anna.id, metadata: metadataFor(randomUUID()) };
      await startMergeRequestPipeline(deps, await rowOf(world), wanted);
      return git(world.gitDir, "rev-parse", ref);
    };
    const former = await start();
    await git(world.copy, "fetch", "--quiet", "origin", ref);
    await git(world.copy, "push", "--quiet", "origin", "FETCH_HEAD:refs/heads/main");
    await pushAs(world, bob, "later");
    await withNewestSource(deps, await rowOf(world));
    expect(await start()).not.to.equal(former);
  });

  it("leaves out the newest of very many requests, and reports it", async () => {
    const { world, ci } = await given();
    const newest = startedByPushMax + 1;
    const targets = Array.from({ length: newest }, (_, at) => `into-${at + 1}`);
    const refs = targets.map((name) => `main:refs/heads/${name}`);
    await git(world.copy, "push", "--quiet", "origin", ...refs);
    for (const id of targets) await world.open({ targetBranch: { id } });
    await pushAs(world, bob, "all.txt");
    for (const localId of [startedByPushMax, newest]) {
      const row = await rowOf(world, localId);
      await withNewestSource(deps, row);
      const moved = (await eventsOf(world, "MergeRequestSourceMoved")).find(({ stream }) =>
        stream.endsWith(row.id),
      );
      await work(moved);
    }
    const [started, ...others] = await ci.pipelines();
    expect([started?.["ref"], others]).to.deep.equal([
      `refs/merge-requests/${startedByPushMax}/merge`,
      [],
    ]);
    expect(warnings).to.deep.include({
      projectId: world.project.id,
      mergeRequest: newest,
      sourceProjectId: world.project.id,
      branch: "feature",
      startedByPushMax,
    });
    const byHand = await world.post(bob, `/merge-request/${newest}/pipelines`);
    expect(byHand.status, byHand.text).to.equal(200);
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

  it("are read once for the jobs of a pipeline", async () => {
    const { world, ci } = await given();
    await world.open();
    await work((await eventsOf(world, "LocalIdAssigned"))[0]);
    const [{ localId } = {}] = await ci.pipelines();
    const { db } = app.deps;
    const pipeline = await db("pipeline")
      .where({ project_id: world.project.id, local_id: localId })
      .first();
    const [job] = await allJobs(db, pipeline.id);
    const facts = await pipelineFacts(app.deps, job!);
    const statements: string[] = [];
    const note = ({ sql }: Readonly<{ sql: string }>) => statements.push(sql);
    db.on("query", note);
    const run = await findJobRun(app.deps, job!, { facts });
    db.off("query", note);
    expect(run?.more.get("CI_MERGE_REQUEST_TITLE")).to.equal("Feature");
    expect(statements.filter((sql) => sql.includes("merge_request"))).to.deep.equal([]);
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
