import { accessTokenEvents } from "./access-token.ts";
import { approvalEvents } from "./approval.ts";
import { companyEvents } from "./company.ts";
import type { EventSchemas } from "./event.ts";
import { externalIdentityEvents } from "./external-identity.ts";
import { followEvents } from "./follow.ts";
import { gpgKeyEvents } from "./gpg-key.ts";
import { holdingEvents } from "./holding.ts";
import { invitationEvents } from "./invitation.ts";
import { lfsLockEvents } from "./lfs-lock.ts";
import { lfsObjectEvents } from "./lfs-object.ts";
import { loginConnectionEvents } from "./login-connection.ts";
import { mailEvents } from "./mail.ts";
import { membershipEvents } from "./membership.ts";
import { mirrorEvents } from "./mirror.ts";
import { oauthApplicationEvents } from "./oauth-application.ts";
import { oauthAuthorizationEvents } from "./oauth-authorization.ts";
import { packageVersionEvents } from "./package-version.ts";
import { projectEvents } from "./project.ts";
import { protectionEvents } from "./protection.ts";
import { pushCountEvents } from "./push-count.ts";
import { recoveryEvents } from "./recovery.ts";
import { releaseEvents } from "./release.ts";
import { reportEvents } from "./report.ts";
import { repositoryEvents } from "./repository.ts";
import { reservationEvents } from "./reservation.ts";
import { sessionEvents } from "./session.ts";
import { settingsEvents } from "./settings.ts";
import { sshKeyEvents } from "./ssh-key.ts";
import { teamEvents } from "./team.ts";
import { templateSettingEvents } from "./template-setting.ts";
import { twoFactorEvents } from "./two-factor.ts";
import { userEvents } from "./user.ts";
import { webhookEvents } from "./webhook.ts";
import { webhookDeliveryEvents } from "./webhook-delivery.ts";
import { webhookLogEvents } from "./webhook-log.ts";

/** Every slice of the log by the name of its file; the tests hold a frozen example of each type. */
export const slices = {
  "access-token": accessTokenEvents,
  approval: approvalEvents,
  company: companyEvents,
  "external-identity": externalIdentityEvents,
  follow: followEvents,
  "login-connection": loginConnectionEvents,
  invitation: invitationEvents,
  mail: mailEvents,
  holding: holdingEvents,
  "lfs-lock": lfsLockEvents,
  "lfs-object": lfsObjectEvents,
  membership: membershipEvents,
  mirror: mirrorEvents,
  "oauth-application": oauthApplicationEvents,
  "oauth-authorization": oauthAuthorizationEvents,
  "package-version": packageVersionEvents,
  project: projectEvents,
  protection: protectionEvents,
  "push-count": pushCountEvents,
  recovery: recoveryEvents,
  report: reportEvents,
  release: releaseEvents,
  repository: repositoryEvents,
  reservation: reservationEvents,
  team: teamEvents,
  session: sessionEvents,
  settings: settingsEvents,
  "gpg-key": gpgKeyEvents,
  "ssh-key": sshKeyEvents,
  "template-setting": templateSettingEvents,
  "two-factor": twoFactorEvents,
  user: userEvents,
  webhook: webhookEvents,
  "webhook-delivery": webhookDeliveryEvents,
  "webhook-log": webhookLogEvents,
} as const satisfies Readonly<Record<string, EventSchemas>>;
