import { sweepSignatureChecks } from "../platform/signature-memory.ts";
import { accountLink } from "./account-link.ts";
import { blobCollectionWorker, sweepBlobs } from "./blob-collection.ts";
import { invitationFollowUp, sweepInvitations } from "./invitation.ts";
import { mailOutbox, mailWorker, sweepMails } from "./mail.ts";
import { mirrorReactor, sweepMirrors } from "./mirror.ts";
import { mirrorSyncWorker } from "./mirror-sync.ts";
import { projectFork, projectForkWorker } from "./project-fork.ts";
import { projectPurge, projectPurgeWorker, sweepDeletedProjects } from "./project-purge.ts";
import { protectionApply, protectionApplyWorker } from "./protection-apply.ts";
import { pushCountReactor, pushCountWorker } from "./push-count.ts";
import type { Reactor } from "./reactor.ts";
import { repositoryMaintenance, repositoryMaintenanceWorker } from "./repository-maintenance.ts";
import { lfsSize, repositorySizeWorker } from "./repository-size.ts";
import { sweepSessions } from "./session-sweep.ts";
import type { Sweep } from "./sweep.ts";
import { webhookDeliveryWorker, webhookRetryWorker } from "./webhook-delivery.ts";
import { webhookDispatch } from "./webhook-dispatch.ts";
import { sweepWebhookLog } from "./webhook-log.ts";
import { webhookNotification } from "./webhook-notification.ts";
import { webhookReplayWorker } from "./webhook-replay.ts";
import { sweepWebhooks } from "./webhook-sweep.ts";
import type { Worker } from "./worker.ts";

/** Everything that turns events into jobs, sorted by name. */
export const allReactors: readonly Reactor[] = [
  accountLink,
  invitationFollowUp,
  lfsSize,
  mailOutbox,
  mirrorReactor,
  projectFork,
  projectPurge,
  protectionApply,
  pushCountReactor,
  repositoryMaintenance,
  webhookDispatch,
  webhookNotification,
];

/** Everything that does jobs, sorted by queue. */
export const allWorkers: readonly Worker[] = [
  mailWorker,
  mirrorSyncWorker,
  blobCollectionWorker,
  projectForkWorker,
  projectPurgeWorker,
  protectionApplyWorker,
  pushCountWorker,
  repositoryMaintenanceWorker,
  repositorySizeWorker,
  webhookDeliveryWorker,
  webhookReplayWorker,
  webhookRetryWorker,
];

/** What the leader does every minute to put right what got stuck. */
export const allSweeps: readonly Sweep[] = [
  sweepSessions,
  sweepInvitations,
  sweepMails,
  sweepDeletedProjects,
  sweepMirrors,
  sweepBlobs,
  sweepWebhooks,
  sweepWebhookLog,
  ({ db, now }) => sweepSignatureChecks(db, now()),
];
