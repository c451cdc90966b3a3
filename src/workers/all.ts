import { sweepSignatureChecks } from "../git/signature/memory.ts";
import { invitationLapse } from "./access/invitation-lapse.ts";
import { sweepSessions } from "./access/session-sweep.ts";
import { sweepArtifacts } from "./agent/artifact-sweep.ts";
import { jobLogEnd, jobLogRemoval, jobLogRemovalWorker, jobLogWorker } from "./agent/keep-log.ts";
import { sweepJobsWithoutAgent, sweepStuckJobs } from "./agent/stuck.ts";
import { agentWatch, agentWatchWorker, sweepSilentRuns } from "./agent/watch.ts";
import { snapshotOfPast } from "./audit/snapshot.ts";
import type { Reactor } from "./core/reactor.ts";
import { retrySetAside } from "./core/set-aside.ts";
import type { Sweep } from "./core/sweep.ts";
import type { Worker } from "./core/worker.ts";
import { blobCollectionWorker, sweepBlobs } from "./git/blob-collection.ts";
import { issueNotification } from "./issue/notification.ts";
import { sweepUnnumberedIssues } from "./issue/number-sweep.ts";
import { autoMergeWorker, sweepAutoMerges } from "./merge-request/auto-merge.ts";
import { mergeRequestChecked, mergeRequestCheckedWorker } from "./merge-request/checked-commit.ts";
import { mergeRequestRefs, mergeRequestRefsWorker } from "./merge-request/delete-refs.ts";
import { mergeCheck, mergeCheckWorker, sweepMergeChecks } from "./merge-request/merge-check.ts";
import { mergeRequestMerge, mergeRequestMergeWorker } from "./merge-request/merge-record.ts";
import {
  mergeRequestPushed,
  mergeRequestPushedEndWorker,
  mergeRequestPushedWorker,
} from "./merge-request/merged-by-push.ts";
import { mergeRequestNotification } from "./merge-request/notification.ts";
import {
  mergeRequestHead,
  mergeRequestHeadWorker,
  numberMergeRequests,
} from "./merge-request/number.ts";
import { mergeRequestPipeline, mergeRequestPipelineWorker } from "./merge-request/pipeline.ts";
import { mergeRequestPush, mergeRequestPushWorker } from "./merge-request/push-option.ts";
import { mergeRequestRetarget, mergeRequestRetargetWorker } from "./merge-request/retarget.ts";
import { mergeRequestSource, mergeRequestSourceWorker } from "./merge-request/source-move.ts";
import { sweepPackageTrash } from "./package/trash-sweep.ts";
import { pipelineAdvance, pipelineAdvanceWorker } from "./pipeline/advance-worker.ts";
import { cancelChildrenWorker, canceledParents } from "./pipeline/cancel-children.ts";
import { cancelFailedWorker, failedJobs } from "./pipeline/cancel-failed.ts";
import { pipelineCreateWorker, pipelinePush } from "./pipeline/push.ts";
import { scheduleWorker, sweepSchedules } from "./pipeline/schedule.ts";
import {
  environmentBranch,
  environmentStopWorker,
  sweepExpiredEnvironments,
} from "./pipeline/stop-environment.ts";
import {
  sweepExpiredPipelines,
  sweepOverdueJobs,
  sweepUnnumberedPipelines,
} from "./pipeline/sweep.ts";
import { childPipelines, childPipelineWorker, triggerJobWorker } from "./pipeline/trigger-job.ts";
import { projectFork, projectForkWorker } from "./project/fork.ts";
import { mirrorReactor, sweepMirrors } from "./project/mirror.ts";
import { mirrorSyncWorker } from "./project/mirror-sync.ts";
import { projectPurge, projectPurgeWorker, sweepDeletedProjects } from "./project/purge.ts";
import { commitReferenceReactor, commitReferenceWorker } from "./reference/commit-reference.ts";
import { repositoryMaintenance, repositoryMaintenanceWorker } from "./repository/maintenance.ts";
import { fileSize, lfsSize, repositorySizeWorker } from "./repository/size.ts";
import { sweepTransfers, transferFollowUp } from "./team/transfer-offer.ts";
import { accountLink } from "./user/account-link.ts";
import { invitationFollowUp, sweepInvitations } from "./user/invitation.ts";
import { mailOutbox, mailWorker, sweepMails } from "./user/mail.ts";
import { pushCountReactor, pushCountWorker } from "./user/push-count.ts";
import { webhookDeliveryWorker, webhookRetryWorker } from "./webhook/delivery.ts";
import { webhookDispatch } from "./webhook/dispatch.ts";
import { sweepWebhookLog } from "./webhook/log.ts";
import { sweepLostDeliveries } from "./webhook/lost.ts";
import { webhookNotification } from "./webhook/notification.ts";
import { webhookReplayWorker } from "./webhook/replay.ts";
import { sweepWebhooks } from "./webhook/sweep.ts";

/** Everything that turns events into jobs, sorted by name. */
export const allReactors: readonly Reactor[] = [
  accountLink,
  snapshotOfPast,
  commitReferenceReactor,
  agentWatch,
  environmentBranch,
  fileSize,
  jobLogEnd,
  jobLogRemoval,
  invitationFollowUp,
  invitationLapse,
  issueNotification,
  lfsSize,
  mailOutbox,
  mergeCheck,
  mergeRequestChecked,
  mergeRequestHead,
  mergeRequestRefs,
  mergeRequestMerge,
  mergeRequestNotification,
  mergeRequestPipeline,
  mergeRequestPush,
  mergeRequestPushed,
  mergeRequestRetarget,
  mergeRequestSource,
  mirrorReactor,
  pipelineAdvance,
  childPipelines,
  canceledParents,
  failedJobs,
  pipelinePush,
  projectFork,
  projectPurge,
  pushCountReactor,
  repositoryMaintenance,
  transferFollowUp,
  webhookDispatch,
  webhookNotification,
];

/** Everything that does jobs, sorted by queue. */
export const allWorkers: readonly Worker[] = [
  commitReferenceWorker,
  agentWatchWorker,
  environmentStopWorker,
  jobLogWorker,
  jobLogRemovalWorker,
  mailWorker,
  mergeCheckWorker,
  autoMergeWorker,
  mergeRequestCheckedWorker,
  mergeRequestHeadWorker,
  mergeRequestRefsWorker,
  mergeRequestMergeWorker,
  mergeRequestPipelineWorker,
  mergeRequestPushWorker,
  mergeRequestPushedWorker,
  mergeRequestPushedEndWorker,
  mergeRequestRetargetWorker,
  mergeRequestSourceWorker,
  mirrorSyncWorker,
  blobCollectionWorker,
  pipelineAdvanceWorker,
  cancelChildrenWorker,
  cancelFailedWorker,
  childPipelineWorker,
  pipelineCreateWorker,
  scheduleWorker,
  triggerJobWorker,
  projectForkWorker,
  projectPurgeWorker,
  pushCountWorker,
  repositoryMaintenanceWorker,
  repositorySizeWorker,
  webhookDeliveryWorker,
  webhookReplayWorker,
  webhookRetryWorker,
];

/** What the leader does every minute to put right what got stuck. */
export const allSweeps: readonly Sweep[] = [
  sweepArtifacts,
  sweepJobsWithoutAgent,
  sweepStuckJobs,
  sweepSilentRuns,
  sweepSessions,
  sweepInvitations,
  sweepTransfers,
  sweepMails,
  sweepUnnumberedIssues,
  sweepDeletedProjects,
  numberMergeRequests,
  sweepAutoMerges,
  sweepMergeChecks,
  sweepPackageTrash,
  sweepMirrors,
  sweepSchedules,
  sweepUnnumberedPipelines,
  sweepOverdueJobs,
  sweepExpiredPipelines,
  sweepExpiredEnvironments,
  sweepBlobs,
  sweepLostDeliveries,
  sweepWebhooks,
  sweepWebhookLog,
  retrySetAside(allReactors),
  ({ db, now }) => sweepSignatureChecks(db, now()),
];
