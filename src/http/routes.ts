import { deleteAccessToken, getAccessTokens, postAccessToken } from "./access-token.ts";
import {
  confirmOwnEmail,
  confirmPasswordReset,
  postEmailConfirmation,
  postPasswordReset,
} from "./account-link.ts";
import { approvalRoutes } from "./approval.ts";
import { archiveRoutes } from "./archive.ts";
import { authorizedApplicationRoutes } from "./authorized-application.ts";
import { downloadBlob, getBlob, getFileSize, listBlobs } from "./blob.ts";
import { getBranches, getDefaultBranch } from "./branch.ts";
import { branchChangeRoutes } from "./branch-change.ts";
import { compareBranches } from "./branch-compare.ts";
import { getCommit, getCommits } from "./commit.ts";
import { commitChangeRoutes } from "./commit-change.ts";
import { getFileDiff, getLastCommit, listCommitFiles } from "./commit-diff.ts";
import { commitPickRoutes } from "./commit-pick.ts";
import { companyRoutes } from "./company.ts";
import { deleteOwnGpgKey, getOwnGpgKeys, postOwnGpgKey } from "./gpg-key.ts";
import { invitationRoutes, postInvitationAccept } from "./invitation.ts";
import { ldapConnectionRoutes } from "./ldap-connection.ts";
import { getMail, getMails } from "./mail.ts";
import { memberRoutes } from "./member.ts";
import { mirrorRoutes } from "./mirror.ts";
import { oauthApplicationRoutes } from "./oauth-application.ts";
import { oauthCompatRoutes } from "./oauth-compat.ts";
import { getOAuthMetadata } from "./oauth-metadata.ts";
import { oauthTokenRoutes } from "./oauth-token.ts";
import { oidcConnectionRoutes } from "./oidc-connection.ts";
import { packageRoutes } from "./package.ts";
import { packageDownloadRoutes } from "./package-download.ts";
import { packageUploadRoutes } from "./package-upload.ts";
import {
  getOwnProjects,
  getProject,
  getProjectById,
  getPublicProjects,
  getSharedProjects,
  postProject,
} from "./project.ts";
import { projectDeletionRoutes } from "./project-deletion.ts";
import { projectForkRoutes } from "./project-fork.ts";
import { projectQuotaRoutes } from "./project-quota.ts";
import { projectSettingRoutes } from "./project-setting.ts";
import { protectionRoutes } from "./protection.ts";
import { getPushStats, getPushStatsOfUsers } from "./push-stats.ts";
import { releaseRoutes } from "./release.ts";
import { releaseFileRoutes } from "./release-file.ts";
import { closeReport, getReports, reportRoutes } from "./report.ts";
import type { Route } from "./route.ts";
import { samlConnectionRoutes } from "./saml-connection.ts";
import { getSettings, settingsRoutes } from "./settings.ts";
import {
  deleteOwnSshKey,
  deleteUserSshKey,
  getOwnSshKeys,
  getUserSshKey,
  getUserSshKeys,
  postOwnSshKey,
  postUserSshKey,
} from "./ssh-key.ts";
import { getTag, getTags } from "./tag.ts";
import { tagChangeRoutes } from "./tag-change.ts";
import { teamRoutes } from "./team.ts";
import { transferTeam } from "./team-transfer.ts";
import { templateSettingRoutes } from "./template-setting.ts";
import { deleteTransportToken, getTransportTokens, postTransportToken } from "./transport-token.ts";
import { twoFactorRoutes } from "./two-factor.ts";
import { getOwnUser, getUser, getUsers, postUser } from "./user.ts";
import { putOwnEmail, putOwnPassword, putOwnProfile, putOwnUsername } from "./user-account.ts";
import {
  getUsersAsAdministrator,
  putUserEmail,
  putUserPassword,
  putUserUsername,
} from "./user-administration.ts";
import { banUser, unbanUser } from "./user-ban.ts";
import { deleteFollow, getFollowers, getFollowing, postFollow } from "./user-follow.ts";
import { getUserProjects } from "./user-project.ts";
import { registerOneself } from "./user-registration.ts";
import { webhookRoutes } from "./webhook.ts";
import { webhookDeliveryRoutes } from "./webhook-delivery.ts";

/** Every declared operation. What is not here does not exist: no route is mounted by hand. */
export const routes: readonly Route[] = [
  ...approvalRoutes,
  ...archiveRoutes,
  ...branchChangeRoutes,
  ...commitChangeRoutes,
  ...commitPickRoutes,
  ...companyRoutes,
  ...ldapConnectionRoutes,
  ...invitationRoutes,
  ...memberRoutes,
  ...authorizedApplicationRoutes,
  ...mirrorRoutes,
  ...oauthApplicationRoutes,
  ...oauthCompatRoutes,
  ...oauthTokenRoutes,
  ...oidcConnectionRoutes,
  ...packageDownloadRoutes,
  ...packageRoutes,
  ...packageUploadRoutes,
  ...projectDeletionRoutes,
  ...projectForkRoutes,
  ...projectQuotaRoutes,
  ...projectSettingRoutes,
  ...protectionRoutes,
  ...samlConnectionRoutes,
  ...reportRoutes,
  ...releaseFileRoutes,
  ...releaseRoutes,
  ...settingsRoutes,
  ...tagChangeRoutes,
  ...teamRoutes,
  ...twoFactorRoutes,
  ...webhookDeliveryRoutes,
  ...webhookRoutes,
  banUser,
  closeReport,
  confirmOwnEmail,
  confirmPasswordReset,
  deleteAccessToken,
  deleteFollow,
  deleteOwnGpgKey,
  getOwnGpgKeys,
  postOwnGpgKey,
  deleteOwnSshKey,
  deleteTransportToken,
  deleteUserSshKey,
  downloadBlob,
  getAccessTokens,
  getBlob,
  getBranches,
  getCommit,
  listCommitFiles,
  getFileDiff,
  getLastCommit,
  compareBranches,
  getCommits,
  getDefaultBranch,
  getFileSize,
  getFollowers,
  getFollowing,
  getMail,
  getMails,
  getOAuthMetadata,
  getOwnProjects,
  getOwnSshKeys,
  getOwnUser,
  getProject,
  getProjectById,
  getPublicProjects,
  getPushStats,
  getPushStatsOfUsers,
  getReports,
  getSettings,
  getSharedProjects,
  getTag,
  getTags,
  getTransportTokens,
  getUser,
  getUserProjects,
  getUsers,
  getUsersAsAdministrator,
  getUserSshKey,
  getUserSshKeys,
  listBlobs,
  postAccessToken,
  postEmailConfirmation,
  postFollow,
  postInvitationAccept,
  postOwnSshKey,
  postPasswordReset,
  postProject,
  postTransportToken,
  postUser,
  postUserSshKey,
  putOwnEmail,
  putOwnPassword,
  putOwnProfile,
  putOwnUsername,
  putUserEmail,
  putUserPassword,
  putUserUsername,
  registerOneself,
  transferTeam,
  unbanUser,
  ...templateSettingRoutes,
];
