import { randomUUID } from "node:crypto";
import { expect } from "chai";
import { handle } from "../../../src/commands/core/handle.ts";
import { type JobCommand, job } from "../../../src/commands/pipeline/job.ts";
import type { Recorded } from "../../../src/events/core/event.ts";
import { deterministicId } from "../../../src/platform/deterministic-id.ts";
import { findJobById, findJobSpec } from "../../../src/projections/pipeline/query.ts";
import type { JobRow } from "../../../src/projections/pipeline/table.ts";
import { claimNextJob } from "../../../src/services/pipeline/claim.ts";
import { pipelineCreateWorker, pipelinePush } from "../../../src/workers/pipeline/push.ts";
import type { TestApp, TestProject, TestUser } from "../app/app.ts";
import { eventually } from "../app/eventually.ts";
import { metadataFor } from "../app/history.ts";

/** Creates the pipelines of pushes, given by their events, where no workers run. */
export async function createPipelines(app: TestApp, pushes: readonly Recorded[]): Promise<void> {
  const deps = { ...app.deps, outbound: undefined as never, proxy: undefined as never } as never;
  for (const event of pushes) {
    for (const { data } of await pipelinePush.react(event, deps)) {
      await pipelineCreateWorker.runJob(data, deps, new AbortController().signal);
    }
  }
  await app.deps.visible(await app.deps.store.head());
}

/** The same, all at once, and those of the last pushes first. */
export async function createPipelinesAtOnce(
  app: TestApp,
  pushes: readonly Recorded[],
): Promise<void> {
  await Promise.all([...pushes].reverse().map((push) => createPipelines(app, [push])));
}

export type View = Readonly<Record<string, unknown>>;

/** Sends requests of its owner. */
function requestsOf(app: TestApp, owner: TestUser, project: TestProject) {
  const base = `/project/${project.ownerAlias}/${project.alias}`;
  const { token } = owner;
  const known = new Set<string>();

  async function commit(
    files: Readonly<Record<string, string>>,
    message = "Change",
    branch = "main",
  ) {
    const actions = Object.entries(files).map(([path, content]) => ({
      action: known.has(path) ? "UPDATE" : "CREATE",
      path,
      content,
    }));
    for (const path of Object.keys(files)) known.add(path);
    const body = { branch, message, actions };
    const { status, body: made, text } = await app.post(`${base}/commit`, { token, body });
    expect(status, text).to.equal(200);
    return String(made["hash"] ?? made["id"]);
  }

  async function pipelines(query = ""): Promise<readonly View[]> {
    const { body } = await app.get(`${base}/cicd/pipeline${query}`, { token });
    return (body["_embedded"] as { restPipelineModelList: View[] }).restPipelineModelList;
  }

  async function jobs(localId: unknown): Promise<readonly View[]> {
    const at = `${base}/cicd/pipeline/${localId}/jobs?size=200`;
    const { body } = await app.get(at, { token });
    return (body["_embedded"] as { restPipelineJobModelList: View[] }).restPipelineJobModelList;
  }

  const statuses = async (localId: unknown): Promise<Readonly<Record<string, unknown>>> =>
    Object.fromEntries((await jobs(localId)).map(({ name, status }) => [name, status]));

  async function pipeline(localId: unknown): Promise<View> {
    return (await app.get(`${base}/cicd/pipeline/${localId}`, { token })).body;
  }

  /** Starts one by request. */
  async function start(body: unknown = {}): Promise<View> {
    const {
      status,
      body: started,
      text,
    } = await app.post(`${base}/cicd/pipeline/start`, { token, body });
    expect(status, text).to.equal(200);
    return started;
  }

  return { base, token, commit, pipelines, pipeline, jobs, statuses, start };
}

/** Takes and reports jobs of a project, as an agent that can run everything. */
function agentOf(app: TestApp, project: TestProject) {
  const agentId = deterministicId("agent of", project.id);
  let tokens = 0;

  /** Takes the next job as an agent that can run everything. */
  async function claim(): Promise<JobRow | undefined> {
    tokens += 1;
    const claimed = await claimNextJob(app.deps, {
      agentId,
      filter: { projectIds: [project.id], tags: [], runUntagged: true },
      mayTake: async () => true,
      tokenHash: `${project.id}-${tokens}`,
    });
    return claimed && findJobById(app.deps.db, claimed.job.id);
  }

  type Report = { [Key in JobCommand["type"]]: Extract<JobCommand, { type: Key }> }[
    | "RecordJobStarted"
    | "RecordJobSucceeded"
    | "RecordJobFailed"];

  async function report(row: JobRow, type: Report["type"], change: object = {}): Promise<void> {
    const spec = await findJobSpec(app.deps.db, row.id);
    const command = {
      type,
      jobId: row.id,
      pipelineId: row.pipeline_id,
      projectId: row.project_id,
      agentId,
      attempt: row.attempt,
      at: new Date().toISOString(),
      ...(type === "RecordJobFailed" && { reason: "script_failure", exitCode: 1, rules: spec }),
      ...change,
    } as JobCommand;
    const metadata = metadataFor(randomUUID());
    const { position } = await handle(app.deps.store, job, { id: row.id, command, metadata });
    await app.deps.visible(position);
  }

  /** Runs the next job to its end, once there is one. Jobs of one stage are queued in any order. */
  async function run(
    outcome: Outcome | ((job: string) => Outcome) = "RecordJobSucceeded",
    change = {},
  ) {
    const row = await eventually(async () => {
      const claimed = await claim();
      if (claimed === undefined) throw new Error("no job is queued");
      return claimed;
    });
    await report(row, "RecordJobStarted");
    await report(row, typeof outcome === "string" ? outcome : outcome(row.name), change);
    return row.name;
  }

  return { agentId, claim, report, run };
}

type Outcome = "RecordJobSucceeded" | "RecordJobFailed";

/** The outcome of a run in which one job alone fails. */
export const failing =
  (job: string) =>
  (name: string): Outcome =>
    name === job ? "RecordJobFailed" : "RecordJobSucceeded";

/** Both: what tests of pipelines do to a project of the app. */
export function pipelinesOf(app: TestApp, owner: TestUser, project: TestProject) {
  return { ...requestsOf(app, owner, project), ...agentOf(app, project) };
}
