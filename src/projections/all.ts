import { accessTokenProjection } from "./access-token.ts";
import { approvalProjection } from "./approval.ts";
import { auditEntryProjection } from "./audit-entry.ts";
import { companyProjection } from "./company.ts";
import { externalIdentityProjection } from "./external-identity.ts";
import { followProjection } from "./follow.ts";
import { gitRefProjection } from "./git-ref.ts";
import { gpgKeyProjection } from "./gpg-key.ts";
import { invitationProjection } from "./invitation.ts";
import { lfsLockProjection } from "./lfs-lock.ts";
import { lfsObjectProjection } from "./lfs-object.ts";
import { logChainProjection } from "./log-chain.ts";
import { loginConnectionProjection } from "./login-connection.ts";
import { mailProjection } from "./mail.ts";
import { memberProjection } from "./member.ts";
import { oauthApplicationProjection } from "./oauth-application.ts";
import { oauthAuthorizationProjection } from "./oauth-authorization.ts";
import { packageVersionProjection } from "./package-version.ts";
import { projectProjection } from "./project.ts";
import type { Projection } from "./projection.ts";
import { protectionProjection } from "./protection.ts";
import { pushCountProjection } from "./push-count.ts";
import { releaseProjection } from "./release.ts";
import { reportProjection } from "./report.ts";
import { sessionProjection } from "./session.ts";
import { settingsProjection } from "./settings.ts";
import { sshKeyProjection } from "./ssh-key.ts";
import { teamProjection } from "./team.ts";
import { templateSettingProjection } from "./template-setting.ts";
import { twoFactorProjection } from "./two-factor.ts";
import { userProjection } from "./user.ts";
import { webhookProjection } from "./webhook.ts";
import { webhookDeliveryProjection } from "./webhook-delivery.ts";

/** Every read model, sorted by name. */
export const allProjections: readonly Projection[] = [
  accessTokenProjection,
  approvalProjection,
  auditEntryProjection,
  companyProjection,
  externalIdentityProjection,
  followProjection,
  gitRefProjection,
  gpgKeyProjection,
  invitationProjection,
  lfsLockProjection,
  lfsObjectProjection,
  logChainProjection,
  loginConnectionProjection,
  mailProjection,
  memberProjection,
  oauthApplicationProjection,
  oauthAuthorizationProjection,
  packageVersionProjection,
  projectProjection,
  protectionProjection,
  pushCountProjection,
  releaseProjection,
  reportProjection,
  sessionProjection,
  settingsProjection,
  sshKeyProjection,
  teamProjection,
  templateSettingProjection,
  twoFactorProjection,
  userProjection,
  webhookProjection,
  webhookDeliveryProjection,
];
