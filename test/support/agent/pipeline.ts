import { ObjectId, ProjectId, UserId } from "../../../src/events/core/ids.ts";
import { JobId, PipelineId } from "../../../src/events/pipeline/id.ts";
import type { JobSpec } from "../../../src/events/pipeline/job-spec.ts";
import type { PipelineEvent } from "../../../src/events/pipeline/pipeline.ts";
import { deterministicId } from "../../../src/platform/deterministic-id.ts";
import { at } from "../app/history.ts";

export const projectId = ProjectId.parse(deterministicId("project of pipelines"));
export const userId = UserId.parse(deterministicId("user of pipelines"));
export const pipelineId = PipelineId.parse(deterministicId("pipeline"));
export const agentId = deterministicId("agent");
export const jobIdOf = (name: string): JobId => JobId.parse(deterministicId("job", name));
export const commitId = ObjectId.parse("9fceb02d0ae598e95dc970b74767f19372d61af8");

/** A job that runs one line. */
export function specOf(name: string, change: Partial<JobSpec> = {}): JobSpec {
  return {
    name,
    stage: "test",
    stageIndex: 2,
    beforeScript: [],
    script: ["true"],
    afterScript: [],
    preGetSources: [],
    image: null,
    services: [],
    variables: [],
    tags: [],
    when: "on_success",
    startInSeconds: null,
    allowFailure: { always: false, exitCodes: [] },
    needs: null,
    dependencies: null,
    artifacts: null,
    cache: [],
    environment: null,
    retry: { max: 0, when: [], exitCodes: [] },
    timeoutSeconds: null,
    interruptible: false,
    resourceGroup: null,
    release: null,
    trigger: null,
    coverage: null,
    parallel: null,
    ...change,
  };
}

export const origin = {
  ref: "main",
  isTag: false,
  commitId,
  beforeCommitId: null,
  source: "PUSH",
  userId,
  parent: null,
  mergeRequest: null,
  startedBy: null,
} as const;

export function created(jobs: number, change = {}): PipelineEvent {
  const plan = {
    variables: null,
    name: null,
    autoCancel: "conservative",
    failureReason: null,
  } as const;
  return {
    type: "PipelineCreated",
    data: { pipelineId, projectId, ...origin, ...plan, jobs, createdAt: at, ...change },
  };
}

export function planned(...specs: readonly JobSpec[]): PipelineEvent {
  const jobs = specs.map((spec) => ({ jobId: jobIdOf(spec.name), spec }));
  return {
    type: "PipelineJobsPlanned",
    data: { pipelineId, projectId, from: 0, jobs, plannedAt: at },
  };
}
