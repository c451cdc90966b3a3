import { z } from "zod";

import type { EventSchemas } from "../core/event.ts";
import { IsoInstant, UserId } from "../core/ids.ts";
import { streamName } from "../core/stream.ts";

export const LoginPage = z.enum(["BASIC", "SAML", "LDAP", "OIDC"]);
export type LoginPage = z.output<typeof LoginPage>;

const flag = z.boolean();
const count = z.int().nonnegative();
const domains = z.array(z.string());

/** The settings of the instance, under the names clients know. */
export const Settings = z.object({
  disableLdapAuth: flag,
  disableSamlAuth: flag,
  disableMailAuth: flag,
  fileDownloadIsEnabled: flag,
  pullRepoFromAnonUserIsEnabled: flag,
  downloadReleaseFromAnonUserIsEnabled: flag,
  enableEmailValidation: flag,
  enableDomainValidation: flag,
  enableWhiteList: flag,
  whiteListDomains: domains,
  blackListDomains: domains,
  userAutoConfirm: flag,
  enableApiLimit: flag,
  userApiCountLimit: count,
  enableCustomSshPort: flag,
  sshPort: count,
  globalRegistryAnonymousAccess: flag,
  publicRepositoryAutoPermission: flag,
  projectUpdateLag: count,
  sessionMaxInactiveIntervalMinutes: count,
  pullMirrorUpdateIntervalMinutes: count,
  pushMirrorUpdateIntervalMinutes: count,
  projectCreatePermission: flag,
  teamCreatePermission: flag,
  companyCreatePermission: flag,
  enableTwoFactor: flag,
  enableBasicAuth: flag,
  defaultLoginPage: LoginPage,
  enableBasicLoginPage: flag,
  enableLdapLoginPage: flag,
  enableSamlLoginPage: flag,
  enableOidcLoginPage: flag,
  enableReports: flag,
  lockUserAccountIfLoginAttemptsHasBeenExceeded: flag,
  maxUserArchivedPasswords: count,
  /** Minutes. */
  timeToLockUser: count,
  /** Seconds. */
  timeToCountFailUserLoginAttempts: count,
  archiveUserPasswordsIsEnabled: flag,
  maxAttemptsToLoginIntoAccount: count,
});
export type Settings = Readonly<z.output<typeof Settings>>;

export const settingsDefaults: Settings = {
  disableLdapAuth: false,
  disableSamlAuth: false,
  disableMailAuth: false,
  fileDownloadIsEnabled: true,
  pullRepoFromAnonUserIsEnabled: true,
  downloadReleaseFromAnonUserIsEnabled: true,
  enableEmailValidation: false,
  enableDomainValidation: false,
  enableWhiteList: false,
  whiteListDomains: [],
  blackListDomains: [],
  userAutoConfirm: true,
  enableApiLimit: false,
  userApiCountLimit: 400,
  enableCustomSshPort: false,
  sshPort: 22,
  globalRegistryAnonymousAccess: false,
  publicRepositoryAutoPermission: true,
  projectUpdateLag: 5,
  sessionMaxInactiveIntervalMinutes: 30,
  pullMirrorUpdateIntervalMinutes: 60,
  pushMirrorUpdateIntervalMinutes: 60,
  projectCreatePermission: true,
  teamCreatePermission: true,
  companyCreatePermission: true,
  enableTwoFactor: false,
  enableBasicAuth: true,
  defaultLoginPage: "BASIC",
  enableBasicLoginPage: true,
  enableLdapLoginPage: false,
  enableSamlLoginPage: false,
  enableOidcLoginPage: false,
  enableReports: true,
  lockUserAccountIfLoginAttemptsHasBeenExceeded: true,
  maxUserArchivedPasswords: 3,
  timeToLockUser: 10,
  timeToCountFailUserLoginAttempts: 300,
  archiveUserPasswordsIsEnabled: false,
  maxAttemptsToLoginIntoAccount: 10,
};

export const settingsEvents = {
  /** Only what is other than before. */
  SettingsChanged: z.object({
    changes: Settings.partial(),
    /** Null: at the machine, by the command line. */
    changedById: UserId.nullable(),
    changedAt: IsoInstant,
  }),
} as const satisfies EventSchemas;

/** There is one instance. */
export const settingsId = "instance";
export const settingsStream = (id: string): string => streamName("settings", id);
