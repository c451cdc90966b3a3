import {
  type OwnerOf,
  type Ownership,
  ofDelivery,
  ofFork,
  ofMergeRequest,
  ofPipeline,
  ofPipelineJob,
  ofProject,
  ofPush,
  ofSchedule,
  ofWebhook,
} from "./core/owner.ts";

/** By queue, whose its jobs are: no owner takes more than half of the jobs that a worker runs at once. */
export const jobOwners: Readonly<Record<string, Ownership>> = {
  "agent-watch": { unshared: "A few reads for the runs of all callers that began together." },
  "blob-collection": { unshared: "One job in six hours, for all." },
  "commit-reference": ofProject,
  "environment-stop": ofProject,
  "job-log": { unshared: "For the runs of all callers that ended together; no reader waits." },
  "job-log-removal": { unshared: "A few deletes, for which nobody waits." },
  mail: { unshared: "One mail by the server of the operator; requests for mails are limited." },
  "merge-check": { unshared: "Ahead of its time: who opens the request does not wait for it." },
  "merge-request-auto": ofMergeRequest,
  "merge-request-checked": { unshared: "Two reads." },
  "merge-request-head": ofMergeRequest,
  "merge-request-merge": ofMergeRequest,
  "merge-request-pipeline": ofMergeRequest,
  "merge-request-push": ofPush,
  "merge-request-pushed": ofProject,
  "merge-request-pushed-end": ofMergeRequest,
  "merge-request-refs": { unshared: "One deletion of refs, which the request has done by then." },
  "merge-request-retarget": { unshared: "A few reads, and an event for each request." },
  "merge-request-source": ofProject,
  "mirror-sync": ofProject,
  "pipeline-advance": ofPipeline,
  "pipeline-cancel-children": ofPipeline,
  "pipeline-cancel-failed": ofPipeline,
  "pipeline-child": ofPipeline,
  "pipeline-create": ofPush,
  "pipeline-schedule": ofSchedule,
  "pipeline-trigger": ofPipelineJob,
  "project-fork": ofFork,
  "project-purge": { unshared: "Nobody waits for it." },
  "push-count": ofProject,
  "repository-maintenance": ofProject,
  "repository-size": ofProject,
  "webhook-delivery": ofWebhook,
  "webhook-replay": ofWebhook,
  "webhook-retry": ofDelivery,
};

/** Undefined where the jobs of a queue need no share. */
export function ownerOfJobs(queue: string): OwnerOf | undefined {
  const ownership = jobOwners[queue];
  return typeof ownership === "function" ? ownership : undefined;
}
