import { z } from "zod";

import type { UserId } from "../../events/core/ids.ts";
import { ObjectId } from "../../events/core/ids.ts";
import { bySystem } from "../../events/core/system.ts";
import type { JobSpec, JobTrigger } from "../../events/pipeline/job-spec.ts";
import { isFinished } from "../../events/pipeline/status.ts";
import { deterministicId } from "../../platform/deterministic-id.ts";
import {
  countStarted,
  findJobById,
  findJobSpec,
  findPipelineById,
} from "../../projections/pipeline/query.ts";
import type { JobRow, PipelineRow } from "../../projections/pipeline/table.ts";
import {
  findProject,
  findProjectById,
  type ProjectRow,
} from "../../projections/project/project.ts";
import { findRef } from "../../projections/repository/git-ref.ts";
import type { WorkerDeps } from "../core/deps.ts";
import type { Reactor } from "../core/reactor.ts";
import { defineWorker } from "../core/worker.ts";
import { type Cause, orderJob, triggerQueue } from "./advance.ts";
import { artifactFile } from "./artifact-file.ts";
import { cancelChild } from "./cancel-children.ts";
import type { NewPipeline } from "./create.ts";
import { expansionOf, handedVariables } from "./downstream-variable.ts";
import { actorOfJob, findJobRun, type JobRun } from "./job-run.ts";
import { mayRunOn } from "./ref-right.ts";
import { startPipeline } from "./start.ts";

/** Deeper ones are a mistake: each level may start several pipelines. */
const depthMax = 3;
/** Of all pipelines that one has started, directly or not: a file that starts itself 2,000 times ends there. */
export const startedMax = 1_000;

/** Carries out jobs that start another pipeline. Every step may be repeated. */
export const triggerJobWorker = defineWorker({
  queue: triggerQueue,
  concurrency: 2,
  payload: z.object({ jobId: z.uuid(), attempt: z.int() }),
  async run({ jobId, attempt }, deps) {
    const row = await findJobById(deps.db, jobId);
    const [spec, parent] = await Promise.all([
      findJobSpec(deps.db, jobId),
      row && findPipelineById(deps.db, row.pipeline_id),
    ]);
    const trigger = spec?.trigger;
    if (row === undefined || parent === undefined || !spec || !trigger) return;
    const cause = { id: deterministicId("trigger job", jobId, attempt), correlationId: jobId };
    const run = { ...row, attempt };
    await orderJob(deps, run, { type: "RecordJobStarted", agentId: null, attempt }, cause);
    const wanted = await wantedBy(deps, { row: run, parent, spec, trigger });
    const started = "why" in wanted ? undefined : await startPipeline(deps, wanted);
    if (started === undefined || "none" in started) {
      await fail(deps, run, spec, cause);
      return;
    }
    const { pipelineId: childPipelineId } = started;
    const triggered = { type: "RecordJobTriggered", childPipelineId } as const;
    await deps.visible(await orderJob(deps, run, triggered, cause));
    if (await isCanceled(deps, run, trigger)) {
      const child = await findPipelineById(deps.db, childPipelineId);
      if (child !== undefined) await cancelChild(deps, child, null, cause);
      return;
    }
    // Only a pipeline whose file has mistakes has no jobs.
    if (started.jobs === 0) await fail(deps, run, spec, cause);
    else if (!trigger.depend) await succeed(deps, run, cause);
    else await settle(deps, childPipelineId, cause);
  },
});

/** Canceled while it started a pipeline of its project: who looked for that one did not find it. */
async function isCanceled(
  { db }: WorkerDeps,
  { id, attempt }: JobRow,
  { project }: JobTrigger,
): Promise<boolean> {
  if (project !== null) return false;
  const now = await findJobById(db, id);
  return now?.status === "CANCELED" && now.attempt === attempt;
}

const succeed = (deps: WorkerDeps, row: JobRow, cause: Cause) =>
  orderJob(deps, row, { type: "RecordJobSucceeded", agentId: null, attempt: row.attempt }, cause);

const fail = (deps: WorkerDeps, row: JobRow, rules: JobSpec, cause: Cause) =>
  orderJob(
    deps,
    row,
    {
      type: "RecordJobFailed",
      agentId: null,
      attempt: row.attempt,
      reason: "downstream_pipeline_failure",
      exitCode: null,
      rules,
    },
    cause,
  );

type Trigger = Readonly<{ row: JobRow; parent: PipelineRow; spec: JobSpec; trigger: JobTrigger }>;

async function wantedBy(
  deps: WorkerDeps,
  { row, parent, spec, trigger }: Trigger,
): Promise<NewPipeline | Readonly<{ why: string }>> {
  const { depth, rootId } = await placeOf(deps, parent);
  if (depth >= depthMax) return { why: "Pipelines are nested too deep." };
  const started = await countStarted(deps.db, rootId, startedMax);
  if (started >= startedMax) return { why: "The first pipeline has started too many others." };
  const run = await findJobRun(deps, row, { spec });
  if (run === undefined) return { why: "The pipeline or its project is gone." };
  const given: Record<string, string> = {};
  const sealed = trigger.forwardPipeline ? parent.variables : null;
  const text = sealed === null ? null : await deps.vault.open(sealed);
  if (text !== null) Object.assign(given, JSON.parse(text));
  if (trigger.forwardYaml) Object.assign(given, await handedVariables(run));
  const userId = actorOfJob(row, parent);
  const target = await targetOf(deps, { trigger, parent, userId, run });
  if (target === undefined)
    return { why: "The project, its branch or the right to it is missing." };
  const { project, ref, isTag, commitId } = target;
  const origin = {
    ref,
    isTag,
    commitId: ObjectId.parse(commitId),
    beforeCommitId: null,
    source: "PARENT_PIPELINE",
    userId,
    parent: { pipelineId: parent.id, jobId: row.id },
    // A pipeline of the same project goes on with the same merge request, and has no more rights.
    mergeRequest: trigger.project === null ? parent.merge_request : null,
    startedBy: null,
  } as const;
  const commandId = deterministicId("child pipeline", row.id, row.attempt);
  const metadata = bySystem({ commandId, correlationId: row.id }, deps.now().toISOString());
  const own = trigger.include.length > 0;
  // JSON is YAML: the file of a child pipeline includes what the job names.
  const file = {
    name: `${spec.name}: trigger`,
    text: JSON.stringify({ include: trigger.include }),
    readArtifact: (job: string, path: string) => artifactFile(deps, parent.id, { job, path }),
  };
  return { project, origin, variables: given, metadata, ...(own && { file }) };
}

type Target = Readonly<{ project: ProjectRow; ref: string; isTag: boolean; commitId: string }>;

type Caller = Readonly<{
  trigger: JobTrigger;
  parent: PipelineRow;
  /** For whom the job acts. */
  userId: UserId | null;
  /** Of the job. */
  run: JobRun;
}>;

/** A child pipeline runs on the commit of its parent; another project is for those who may start pipelines there. */
async function targetOf(
  deps: WorkerDeps,
  { trigger: { project: name, branch }, parent, userId, run }: Caller,
): Promise<Target | undefined> {
  const { db } = deps;
  if (name === null) {
    const project = await findProjectById(db, parent.project_id);
    const { ref, is_tag: isTag, commit_id: commitId } = parent;
    return project && { project, ref, isTag, commitId };
  }
  const expand = await expansionOf(run);
  const [ownerAlias = "", alias = ""] = expand(name).split("/");
  const project = await findProject(db, ownerAlias, alias);
  if (project === undefined) return undefined;
  const ref = branch === null ? project.default_branch : expand(branch);
  // A tag is held against the rules for tags: it may have the name of a protected branch.
  const branchRow = await findRef(db, project.id, "branch", ref);
  const found = branchRow ?? (await findRef(db, project.id, "tag", ref));
  const isTag = branchRow === undefined;
  if (!found?.commit_id) return undefined;
  const mayStart = await mayRunOn(deps, project, userId, { ref, isTag, mergeRequest: null });
  return mayStart ? { project, ref, isTag, commitId: found.commit_id } : undefined;
}

/** How far a pipeline is below the one that was not started by another, and which that is. */
async function placeOf(
  { db }: WorkerDeps,
  parent: PipelineRow,
): Promise<Readonly<{ depth: number; rootId: string }>> {
  let depth = 0;
  let rootId: string = parent.id;
  for (let above = parent.parent_pipeline_id; above !== null && depth <= depthMax; depth += 1) {
    rootId = above;
    above = (await findPipelineById(db, above))?.parent_pipeline_id ?? null;
  }
  return { depth, rootId };
}

const settleQueue = "pipeline-child";

/** A job that waits for the pipeline it started ends with it. */
export const childPipelines: Reactor = {
  name: "pipeline-child",
  types: new Set(["PipelineFinished"]),
  react: async ({ id, data, position }) => [
    {
      queue: settleQueue,
      id,
      data: { pipelineId: data["pipelineId"], causeId: id, position: String(position) },
    },
  ],
};

export const childPipelineWorker = defineWorker({
  queue: settleQueue,
  concurrency: 2,
  payload: z.object({ pipelineId: z.uuid(), causeId: z.string(), position: z.string() }),
  async run({ pipelineId, causeId, position }, deps) {
    await deps.visible(BigInt(position));
    await settle(deps, pipelineId, { id: causeId, correlationId: pipelineId });
  },
});

async function settle(deps: WorkerDeps, childId: string, cause: Cause): Promise<void> {
  const child = await findPipelineById(deps.db, childId);
  if (!child?.parent_job_id || !isFinished(child.status)) return;
  const row = await findJobById(deps.db, child.parent_job_id);
  const spec = await findJobSpec(deps.db, child.parent_job_id);
  const isWaiting = row?.status === "RUNNING" && row.child_pipeline_id === child.id;
  if (row === undefined || !isWaiting || !spec?.trigger?.depend) return;
  const passed = child.status === "SUCCESS" || child.status === "WARNING";
  await (passed ? succeed(deps, row, cause) : fail(deps, row, spec, cause));
}
