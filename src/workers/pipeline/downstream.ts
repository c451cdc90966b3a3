import type { UserId } from "../../events/core/ids.ts";
import { ObjectId } from "../../events/core/ids.ts";
import { bySystem } from "../../events/core/system.ts";
import type { JobSpec, JobTrigger } from "../../events/pipeline/job-spec.ts";
import { deterministicId } from "../../platform/deterministic-id.ts";
import { Refusal } from "../../platform/refusal.ts";
import { countStarted, findPipelineById } from "../../projections/pipeline/query.ts";
import type { JobRow, PipelineRow } from "../../projections/pipeline/table.ts";
import { findProjectById, type ProjectRow } from "../../projections/project/project.ts";
import { findProjectByPath } from "../../projections/project/project-path.ts";
import { findRef } from "../../projections/repository/git-ref.ts";
import type { WorkerDeps } from "../../services/core/deps.ts";
import {
  type CreatedPipeline,
  type NewPipeline,
  noPipelineReason,
} from "../../services/pipeline/create.ts";
import { expansionOf, handedVariables } from "../../services/pipeline/downstream-variable.ts";
import { actorOfJob, findJobRun, type JobRun } from "../../services/pipeline/job-run.ts";
import { mayRunOn } from "../../services/pipeline/ref-right.ts";
import { startPipeline } from "../../services/pipeline/start.ts";
import { passing } from "../core/set-aside.ts";
import { artifactFile } from "./artifact-file.ts";

/** Deeper ones are a mistake: each level may start several pipelines. */
const depthMax = 3;
/** Of all pipelines that one has started, directly or not: a file that starts itself 2,000 times ends there. */
export const startedMax = 1_000;

export type Trigger = Readonly<{
  row: JobRow;
  parent: PipelineRow;
  spec: JobSpec;
  trigger: JobTrigger;
}>;

/** Why no pipeline was started: everybody who may read the job reads it. */
type Refused = Readonly<{ started?: undefined; why: string }>;

/** With a reason, a pipeline whose file has mistakes: it has no jobs. */
type Started = Readonly<{ started: CreatedPipeline; why?: string }>;

/** Starts the pipeline that a job names. It may be repeated. */
export async function startDownstream(
  deps: WorkerDeps,
  order: Trigger,
): Promise<Started | Refused> {
  const wanted = await wantedBy(deps, order);
  if ("why" in wanted) return wanted;
  const { project } = wanted;
  const started = await startPipeline(deps, wanted).catch(lasting);
  if (started instanceof Refusal) return refused(order, project, started.message);
  if ("none" in started) return refused(order, project, noPipelineReason[started.none]);
  if (started.jobs > 0) return { started };
  const child = `Pipeline #${started.localId}`;
  if (project.id !== order.parent.project_id) {
    return {
      ...refused(order, project, `${child} of the project has mistakes in its file.`),
      started,
    };
  }
  const made = await findPipelineById(deps.db, started.pipelineId);
  return { started, why: `${child}: ${made?.failure_reason}` };
}

/** What a pipeline is given may be too large to be stored, for example. */
function lasting(error: unknown): Refusal {
  if (error instanceof Refusal && !passing.has(error.kind)) return error;
  throw error;
}

/**
 * The same for a project that does not exist, and for all that can go wrong with one that not everybody who reads the
 * job may see.
 */
const hidden =
  "The project does not exist, it has no such branch or tag, its file makes no jobs there, or the user for whom the job runs may not start them.";

function refused({ parent }: Pick<Trigger, "parent">, project: ProjectRow, why: string): Refused {
  const isSeen = project.id === parent.project_id || !project.is_private;
  return { why: isSeen ? why : hidden };
}

async function wantedBy(
  deps: WorkerDeps,
  { row, parent, spec, trigger }: Trigger,
): Promise<NewPipeline | Refused> {
  const { depth, rootId } = await placeOf(deps, parent);
  if (depth >= depthMax) return { why: `Pipelines start others at most ${depthMax} levels deep.` };
  const started = await countStarted(deps.db, rootId, startedMax);
  if (started >= startedMax) {
    return {
      why: `The first pipeline has started ${startedMax} others, directly or not: no more follow.`,
    };
  }
  const run = await findJobRun(deps, row, { spec });
  if (run === undefined) return { why: "The pipeline or its project is gone." };
  const given: Record<string, string> = {};
  const sealed = trigger.forwardPipeline ? parent.variables : null;
  const text = sealed === null ? null : await deps.vault.open(sealed);
  if (text !== null) Object.assign(given, JSON.parse(text));
  if (trigger.forwardYaml) Object.assign(given, await handedVariables(run));
  const userId = actorOfJob(row, parent);
  const target = await targetOf(deps, { trigger, parent, userId, run });
  if ("why" in target) return target;
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
): Promise<Target | Refused> {
  const { db } = deps;
  if (name === null) {
    const project = await findProjectById(db, parent.project_id);
    const { ref, is_tag: isTag, commit_id: commitId } = parent;
    return project ? { project, ref, isTag, commitId } : { why: "The project is gone." };
  }
  const expand = await expansionOf(run);
  const project = await findProjectByPath(db, expand(name));
  if (project === undefined) return { why: hidden };
  const ref = branch === null ? project.default_branch : expand(branch);
  // A tag is held against the rules for tags: it may have the name of a protected branch.
  const branchRow = await findRef(db, project.id, "branch", ref);
  const found = branchRow ?? (await findRef(db, project.id, "tag", ref));
  const isTag = branchRow === undefined;
  if (!found?.commit_id)
    return refused({ parent }, project, "The project has no such branch or tag.");
  if (await mayRunOn(deps, project, userId, { ref, isTag, mergeRequest: null })) {
    return { project, ref, isTag, commitId: found.commit_id };
  }
  const why =
    "The user for whom the job runs may not start pipelines on that branch or tag of the project.";
  return refused({ parent }, project, why);
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
