import { type Settings, settingsDefaults } from "../../events/instance/settings.ts";

/** The settings of each group that administrators change at once, by the last part of its path. */
export const settingsGroups: Readonly<Record<string, readonly (keyof Settings)[]>> = {
  "2factor": ["enableTwoFactor"],
  "api-limit": ["enableApiLimit", "userApiCountLimit"],
  "archive-password": ["archiveUserPasswordsIsEnabled", "maxUserArchivedPasswords"],
  "auth-methods": ["disableLdapAuth", "disableSamlAuth", "disableMailAuth"],
  "basic-auth": ["enableBasicAuth"],
  "create-permissions": [
    "projectCreatePermission",
    "teamCreatePermission",
    "companyCreatePermission",
    "publicRepositoryAutoPermission",
  ],
  "email-validation": [
    "enableEmailValidation",
    "enableDomainValidation",
    "enableWhiteList",
    "whiteListDomains",
    "blackListDomains",
    "userAutoConfirm",
  ],
  files: [
    "fileDownloadIsEnabled",
    "pullRepoFromAnonUserIsEnabled",
    "downloadReleaseFromAnonUserIsEnabled",
  ],
  "lock-account": [
    "lockUserAccountIfLoginAttemptsHasBeenExceeded",
    "maxAttemptsToLoginIntoAccount",
    "timeToLockUser",
    "timeToCountFailUserLoginAttempts",
  ],
  "login-page": [
    "defaultLoginPage",
    "enableBasicLoginPage",
    "enableLdapLoginPage",
    "enableSamlLoginPage",
    "enableOidcLoginPage",
  ],
  mirrors: [
    "projectUpdateLag",
    "pullMirrorUpdateIntervalMinutes",
    "pushMirrorUpdateIntervalMinutes",
  ],
  "project-report": ["enableReports"],
  registry: ["globalRegistryAnonymousAccess"],
  session: ["sessionMaxInactiveIntervalMinutes"],
  ssh: ["enableCustomSshPort", "sshPort"],
};

/** The defaults of a group; undefined when there is no such group. */
export function defaultsOfGroup(group: string): Partial<Settings> | undefined {
  if (!Object.hasOwn(settingsGroups, group)) return undefined;
  const names = settingsGroups[group] ?? [];
  return Object.fromEntries(names.map((name) => [name, settingsDefaults[name]]));
}
