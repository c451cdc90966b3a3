import { sessionEvents } from "./access/session.ts";
import { twoFactorEvents } from "./access/two-factor.ts";
import { agentEvents } from "./agent/agent.ts";
import { artifactEvents } from "./agent/artifact.ts";
import { jobLogEvents } from "./agent/job-log.ts";
import { registrationEvents } from "./agent/registration.ts";
import { containerTagEvents } from "./container/tag.ts";
import type { EventSchemas } from "./core/event.ts";
import { localIdEvents } from "./core/local-id.ts";
import { reservationEvents } from "./core/reservation.ts";
import { lfsLockEvents } from "./git/lfs-lock.ts";
import { lfsObjectEvents } from "./git/lfs-object.ts";
import { reportEvents } from "./instance/report.ts";
import { settingsEvents } from "./instance/settings.ts";
import { templateSettingEvents } from "./instance/template-setting.ts";
import { issueEvents } from "./issue/issue.ts";
import { issueCommentEvents } from "./issue/issue-comment.ts";
import { labelEvents } from "./label/label.ts";
import { loginConnectionEvents } from "./login/connection.ts";
import { externalIdentityEvents } from "./login/external-identity.ts";
import { approvalEvents } from "./merge-request/approval-rule.ts";
import { discussionEvents } from "./merge-request/discussion.ts";
import { mergeRequestEvents } from "./merge-request/merge-request.ts";
import { mergeSettingEvents } from "./merge-request/merge-setting.ts";
import { oauthApplicationEvents } from "./oauth/application.ts";
import { oauthAuthorizationEvents } from "./oauth/authorization.ts";
import { packageTagEvents } from "./package/tag.ts";
import { packageVersionEvents } from "./package/version.ts";
import { commitStatusEvents } from "./pipeline/commit-status.ts";
import { environmentEvents } from "./pipeline/environment.ts";
import { jobEvents } from "./pipeline/job.ts";
import { pipelineLifetimeEvents } from "./pipeline/lifetime.ts";
import { pipelineEvents } from "./pipeline/pipeline.ts";
import { pipelineScheduleEvents } from "./pipeline/schedule.ts";
import { pipelineTriggerEvents } from "./pipeline/trigger.ts";
import { pipelineVariableEvents } from "./pipeline/variable.ts";
import { holdingEvents } from "./project/child-claim.ts";
import { mirrorEvents } from "./project/mirror.ts";
import { projectEvents } from "./project/project.ts";
import { uploadedFileEvents } from "./project/uploaded-file.ts";
import { protectionEvents } from "./protection/protection.ts";
import { commitReferenceEvents } from "./reference/commit-reference.ts";
import { registryRepositoryEvents } from "./registry/repository.ts";
import { registrySigningKeyEvents } from "./registry/signing-key.ts";
import { releaseEvents } from "./release/release.ts";
import { repositoryEvents } from "./repository/repository.ts";
import { companyEvents } from "./team/company.ts";
import { membershipEvents } from "./team/membership.ts";
import { teamEvents } from "./team/team.ts";
import { transferOfferEvents } from "./team/transfer-offer.ts";
import { accessTokenEvents } from "./token/access-token.ts";
import { followEvents } from "./user/follow.ts";
import { gpgKeyEvents } from "./user/gpg-key.ts";
import { invitationEvents } from "./user/invitation.ts";
import { mailEvents } from "./user/mail.ts";
import { notificationPreferenceEvents } from "./user/notification-preference.ts";
import { pushCountEvents } from "./user/push-count.ts";
import { recoveryEvents } from "./user/recovery.ts";
import { sshKeyEvents } from "./user/ssh-key.ts";
import { userEvents } from "./user/user.ts";
import { webhookDeliveryEvents } from "./webhook/delivery.ts";
import { webhookLogEvents } from "./webhook/log.ts";
import { webhookEvents } from "./webhook/webhook.ts";

/** Every slice of the log by the path of its file; the tests hold a frozen example of each type. */
export const slices = {
  "access/session": sessionEvents,
  "access/two-factor": twoFactorEvents,
  "agent/agent": agentEvents,
  "agent/artifact": artifactEvents,
  "agent/job-log": jobLogEvents,
  "agent/registration": registrationEvents,
  "container/tag": containerTagEvents,
  "core/local-id": localIdEvents,
  "core/reservation": reservationEvents,
  "git/lfs-lock": lfsLockEvents,
  "git/lfs-object": lfsObjectEvents,
  "instance/report": reportEvents,
  "instance/settings": settingsEvents,
  "instance/template-setting": templateSettingEvents,
  "issue/issue": issueEvents,
  "issue/issue-comment": issueCommentEvents,
  "label/label": labelEvents,
  "login/connection": loginConnectionEvents,
  "login/external-identity": externalIdentityEvents,
  "merge-request/approval-rule": approvalEvents,
  "merge-request/discussion": discussionEvents,
  "merge-request/merge-request": mergeRequestEvents,
  "merge-request/merge-setting": mergeSettingEvents,
  "oauth/application": oauthApplicationEvents,
  "oauth/authorization": oauthAuthorizationEvents,
  "package/tag": packageTagEvents,
  "package/version": packageVersionEvents,
  "pipeline/commit-status": commitStatusEvents,
  "pipeline/environment": environmentEvents,
  "pipeline/job": jobEvents,
  "pipeline/lifetime": pipelineLifetimeEvents,
  "pipeline/pipeline": pipelineEvents,
  "pipeline/schedule": pipelineScheduleEvents,
  "pipeline/trigger": pipelineTriggerEvents,
  "pipeline/variable": pipelineVariableEvents,
  "project/child-claim": holdingEvents,
  "project/mirror": mirrorEvents,
  "project/project": projectEvents,
  "project/uploaded-file": uploadedFileEvents,
  "protection/protection": protectionEvents,
  "reference/commit-reference": commitReferenceEvents,
  "registry/repository": registryRepositoryEvents,
  "registry/signing-key": registrySigningKeyEvents,
  "release/release": releaseEvents,
  "repository/repository": repositoryEvents,
  "team/company": companyEvents,
  "team/membership": membershipEvents,
  "team/team": teamEvents,
  "team/transfer-offer": transferOfferEvents,
  "token/access-token": accessTokenEvents,
  "user/follow": followEvents,
  "user/gpg-key": gpgKeyEvents,
  "user/invitation": invitationEvents,
  "user/mail": mailEvents,
  "user/notification-preference": notificationPreferenceEvents,
  "user/push-count": pushCountEvents,
  "user/recovery": recoveryEvents,
  "user/ssh-key": sshKeyEvents,
  "user/user": userEvents,
  "webhook/delivery": webhookDeliveryEvents,
  "webhook/log": webhookLogEvents,
  "webhook/webhook": webhookEvents,
} as const satisfies Readonly<Record<string, EventSchemas>>;
