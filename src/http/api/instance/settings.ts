import { z } from "zod";

import { type SettingsChanges, settings } from "../../../commands/instance/settings.ts";
import { LoginPage, Settings, settingsId } from "../../../events/instance/settings.ts";
import { findSettings } from "../../../projections/instance/settings.ts";
import { administratorHasToken } from "../../../projections/token/access-token.ts";
import { type Route, type RoutePath, route } from "../../core/route.ts";
import { bool, int } from "../../core/schema.ts";

const ServiceSettings = Settings.meta({ id: "ServiceSettings" });
const common = { tag: "Administration", scope: "USER_WRITE", access: "admin" } as const;

const flag = () => bool().optional();
/** What a number may be: none of them is of use at zero, and each has an end. */
const within = (min: number, max: number) => int({ min, max }).optional();
const minutesMax = 366 * 24 * 60;

const domainForm = /^(?:[a-z0-9](?:[a-z0-9-]*[a-z0-9])?\.)*[a-z0-9](?:[a-z0-9-]*[a-z0-9])?$/;

const Domain = z
  .string()
  .trim()
  .toLowerCase()
  .max(253)
  .refine((name) => domainForm.test(name), "This is not a domain")
  .meta({ example: "example.org" });
const domains = () =>
  z
    .array(Domain)
    .max(1_000)
    .transform((names) => [...new Set(names)])
    .optional();

const getSettings = route({
  ...common,
  method: "get",
  path: "/admin/settings",
  operationId: "getSettings",
  summary: "Get the settings of the service",
  reply: ServiceSettings,
  handle: (_input, { db }) => findSettings(db),
});

/** One group of settings: its body in the names clients send, and what that changes. */
function group<Body extends z.ZodType>(
  name: string,
  summary: string,
  body: Body,
  changesOf: (body: z.output<Body>) => SettingsChanges,
): Route {
  const path: RoutePath = `/admin/settings/${name}`;
  const id = summary.replaceAll(/ (\w)/g, (_, letter: string) => letter.toUpperCase());
  return route({
    ...common,
    method: "post",
    path,
    operationId: id.charAt(0).toLowerCase() + id.slice(1),
    summary,
    description: "What is not given stays as it is.",
    body: (body as z.ZodType).meta({ id: `Settings-${name}` }),
    reply: ServiceSettings,
    async handle({ body: given, request }, { db, now }) {
      const changes = changesOf(given as z.output<Body>);
      const at = now().toISOString();
      const administratorToken = await administratorHasToken(db);
      const command = {
        type: "ChangeSettings",
        changes,
        administratorToken,
        by: request.userId,
        at,
      } as const;
      await request.execute(settings, settingsId, command);
      return findSettings(db);
    },
  });
}

/** A group whose body has the names of the settings themselves. */
function plain<Shape extends { readonly [Name in keyof Settings]?: z.ZodType }>(
  name: string,
  summary: string,
  shape: Shape,
): Route {
  return group(name, summary, z.object(shape), (body) => body as SettingsChanges);
}

export const settingsRoutes: readonly Route[] = [
  getSettings,
  group(
    "create-permissions",
    "Set who may create",
    z.object({
      enableCreateProject: flag(),
      enableCreateTeam: flag(),
      enableCreateCompany: flag(),
      publicRepositoryAutoPermission: flag(),
    }),
    (body) => ({
      projectCreatePermission: body.enableCreateProject,
      teamCreatePermission: body.enableCreateTeam,
      companyCreatePermission: body.enableCreateCompany,
      publicRepositoryAutoPermission: body.publicRepositoryAutoPermission,
    }),
  ),
  plain("2factor", "Set two factor login", { enableTwoFactor: flag() }),
  plain("basic-auth", "Set basic authentication", { enableBasicAuth: flag() }),
  group(
    "login-page",
    "Set login pages",
    z.object({
      loginPageUrl: LoginPage.optional(),
      isEnableBasic: flag(),
      isEnableLdap: flag(),
      isEnableSaml: flag(),
      isEnableOidc: flag(),
      isEnableOIDC: flag(),
    }),
    (body) => ({
      defaultLoginPage: body.loginPageUrl,
      enableBasicLoginPage: body.isEnableBasic,
      enableLdapLoginPage: body.isEnableLdap,
      enableSamlLoginPage: body.isEnableSaml,
      enableOidcLoginPage: body.isEnableOidc ?? body.isEnableOIDC,
    }),
  ),
  group("project-report", "Set reports", z.object({ enableReport: flag() }), (body) => ({
    enableReports: body.enableReport,
  })),
  group(
    "lock-account",
    "Set account lockout",
    z.object({
      lockUser: flag(),
      maxAttempts: within(1, 1_000),
      timeToLockUser: within(1, minutesMax),
      timeToCountFailUserLoginAttempts: within(1, 31 * 24 * 3_600),
    }),
    ({ lockUser, maxAttempts, ...times }) => ({
      lockUserAccountIfLoginAttemptsHasBeenExceeded: lockUser,
      maxAttemptsToLoginIntoAccount: maxAttempts,
      ...times,
    }),
  ),
  group(
    "archive-password",
    "Set archived passwords",
    // Each archived password costs a hash when one is changed.
    z.object({ enableArchiveUserPasswords: flag(), maxUserArchivedPasswords: within(0, 24) }),
    (body) => ({
      archiveUserPasswordsIsEnabled: body.enableArchiveUserPasswords,
      maxUserArchivedPasswords: body.maxUserArchivedPasswords,
    }),
  ),
  plain("auth-methods", "Set ways to register", {
    disableLdapAuth: flag(),
    disableSamlAuth: flag(),
    disableMailAuth: flag(),
  }),
  plain("files", "Set downloads", {
    fileDownloadIsEnabled: flag(),
    pullRepoFromAnonUserIsEnabled: flag(),
    downloadReleaseFromAnonUserIsEnabled: flag(),
  }),
  plain("email-validation", "Set email validation", {
    enableEmailValidation: flag(),
    enableDomainValidation: flag(),
    enableWhiteList: flag(),
    whiteListDomains: domains(),
    blackListDomains: domains(),
    userAutoConfirm: flag(),
  }),
  plain("api-limit", "Set the API limit", {
    enableApiLimit: flag(),
    userApiCountLimit: within(1, 1_000_000_000),
  }),
  plain("ssh", "Set the SSH port", { enableCustomSshPort: flag(), sshPort: within(1, 65_535) }),
  plain("registry", "Set access to the registry", { globalRegistryAnonymousAccess: flag() }),
  plain("mirrors", "Set mirror intervals", {
    projectUpdateLag: within(1, minutesMax),
    pullMirrorUpdateIntervalMinutes: within(1, minutesMax),
    pushMirrorUpdateIntervalMinutes: within(1, minutesMax),
  }),
  plain("session", "Set session inactivity", {
    sessionMaxInactiveIntervalMinutes: within(1, minutesMax),
  }),
];
