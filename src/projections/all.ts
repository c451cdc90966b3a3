import { sessionProjection } from "./access/session.ts";
import { twoFactorProjection } from "./access/two-factor.ts";
import { agentProjection } from "./agent/agent.ts";
import { artifactProjection } from "./agent/artifact.ts";
import { jobLogProjection } from "./agent/job-log.ts";
import { auditEntryProjection } from "./audit/entry.ts";
import { foreignEventProjection } from "./audit/foreign-event.ts";
import { logTreeProjection } from "./audit/log-tree.ts";
import { containerManifestProjection } from "./container/manifest.ts";
import type { Projection } from "./core/projection.ts";
import { lfsLockProjection } from "./git/lfs-lock.ts";
import { lfsObjectProjection } from "./git/lfs-object.ts";
import { reportProjection } from "./instance/report.ts";
import { settingsProjection } from "./instance/settings.ts";
import { templateSettingProjection } from "./instance/template-setting.ts";
import { issueProjection } from "./issue/issue.ts";
import { issueCommentProjection } from "./issue/issue-comment.ts";
import { labelProjection } from "./label/label.ts";
import { loginConnectionProjection } from "./login/connection.ts";
import { externalIdentityProjection } from "./login/external-identity.ts";
import { approvalProjection } from "./merge-request/approval-rule.ts";
import { discussionProjection } from "./merge-request/discussion.ts";
import { mergeRequestProjection } from "./merge-request/merge-request.ts";
import { mergeSettingProjection } from "./merge-request/merge-setting.ts";
import { oauthApplicationProjection } from "./oauth/application.ts";
import { oauthAuthorizationProjection } from "./oauth/authorization.ts";
import { packageVersionProjection } from "./package/version.ts";
import { commitStatusProjection } from "./pipeline/commit-status.ts";
import { environmentProjection } from "./pipeline/environment.ts";
import { pipelineLifetimeProjection } from "./pipeline/lifetime.ts";
import { pipelineProjection } from "./pipeline/pipeline.ts";
import { pipelineScheduleProjection } from "./pipeline/schedule.ts";
import { pipelineTriggerProjection } from "./pipeline/trigger.ts";
import { pipelineVariableProjection } from "./pipeline/variable.ts";
import { projectProjection } from "./project/project.ts";
import { uploadedFileProjection } from "./project/uploaded-file.ts";
import { protectionProjection } from "./protection/protection.ts";
import { referenceProjection } from "./reference/reference.ts";
import { registryRepositoryProjection } from "./registry/repository.ts";
import { registrySigningKeyProjection } from "./registry/signing-key.ts";
import { releaseProjection } from "./release/release.ts";
import { gitRefProjection } from "./repository/git-ref.ts";
import { companyProjection } from "./team/company.ts";
import { memberProjection } from "./team/member.ts";
import { teamProjection } from "./team/team.ts";
import { transferOfferProjection } from "./team/transfer-offer.ts";
import { accessTokenProjection } from "./token/access-token.ts";
import { followProjection } from "./user/follow.ts";
import { gpgKeyProjection } from "./user/gpg-key.ts";
import { invitationProjection } from "./user/invitation.ts";
import { mailProjection } from "./user/mail.ts";
import { notificationPreferenceProjection } from "./user/notification-preference.ts";
import { pushCountProjection } from "./user/push-count.ts";
import { sshKeyProjection } from "./user/ssh-key.ts";
import { userProjection } from "./user/user.ts";
import { webhookDeliveryProjection } from "./webhook/delivery.ts";
import { webhookProjection } from "./webhook/webhook.ts";

/** Every read model, sorted by name. */
export const allProjections: readonly Projection[] = [
  accessTokenProjection,
  agentProjection,
  approvalProjection,
  auditEntryProjection,
  commitStatusProjection,
  companyProjection,
  containerManifestProjection,
  discussionProjection,
  environmentProjection,
  externalIdentityProjection,
  followProjection,
  foreignEventProjection,
  gitRefProjection,
  gpgKeyProjection,
  invitationProjection,
  issueProjection,
  issueCommentProjection,
  artifactProjection,
  jobLogProjection,
  labelProjection,
  lfsLockProjection,
  lfsObjectProjection,
  logTreeProjection,
  loginConnectionProjection,
  mailProjection,
  memberProjection,
  mergeRequestProjection,
  mergeSettingProjection,
  notificationPreferenceProjection,
  oauthApplicationProjection,
  oauthAuthorizationProjection,
  packageVersionProjection,
  pipelineProjection,
  pipelineLifetimeProjection,
  pipelineScheduleProjection,
  pipelineTriggerProjection,
  pipelineVariableProjection,
  projectProjection,
  protectionProjection,
  pushCountProjection,
  referenceProjection,
  registryRepositoryProjection,
  registrySigningKeyProjection,
  releaseProjection,
  reportProjection,
  sessionProjection,
  settingsProjection,
  sshKeyProjection,
  teamProjection,
  templateSettingProjection,
  transferOfferProjection,
  twoFactorProjection,
  uploadedFileProjection,
  userProjection,
  webhookProjection,
  webhookDeliveryProjection,
];
