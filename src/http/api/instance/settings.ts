import { z } from "zod";

import { type SettingsChanges, settings } from "../../../commands/instance/settings.ts";
import { LoginPage, Settings, settingsId } from "../../../events/instance/settings.ts";
import { findSettings } from "../../../projections/instance/settings.ts";
import { administratorHasToken } from "../../../projections/token/access-token.ts";
import { type Route, type RoutePath, route } from "../../core/route.ts";
import { bool, int } from "../../core/schema.ts";

const ServiceSettings = Settings.meta({ id: "ServiceSettings" });
const common = { tag: "Administration", scope: "USER_WRITE", access: "admin" } as const;

const flag = bool;
/** What a number may be: none of them is of use at zero, and each has an end. */
const within = (min: number, max: number) => int({ min, max });
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
    .transform((names) => [...new Set(names)]);

const getSettings = route({
  ...common,
  method: "get",
  path: "/admin/settings",
  operationId: "getSettings",
  summary: "Get the settings of the service",
  reply: ServiceSettings,
  handle: (_input, { db }) => findSettings(db),
});

/** What a setting may be, and how clients call it beside its own name; the first that is given counts. */
type Member = Readonly<{ schema: z.ZodType; names: readonly string[] }>;
type Members = { readonly [Name in keyof Settings]?: z.ZodType | Member };

const called = (schema: z.ZodType, ...names: readonly string[]): Member => ({ schema, names });

/** One group of settings, of which a body gives some. */
function group(name: string, summary: string, members: Members): Route {
  const path: RoutePath = `/admin/settings/${name}`;
  const id = summary.replaceAll(/ (\w)/g, (_, letter: string) => letter.toUpperCase());
  const all = Object.entries(members).map(([setting, member]) =>
    "names" in member
      ? { setting, schema: member.schema, names: [...member.names, setting] }
      : { setting, schema: member, names: [setting] },
  );
  const names = all.flatMap((member) => member.names);
  const shape = all.flatMap((member) =>
    member.names.map((each) => [each, member.schema.optional()] as const),
  );
  const body = z
    .object(Object.fromEntries(shape))
    .refine((given) => names.some((each) => given[each] !== undefined), {
      error: `Give at least one of ${names.join(", ")}.`,
    });
  return route({
    ...common,
    method: "post",
    path,
    operationId: id.charAt(0).toLowerCase() + id.slice(1),
    summary,
    description: "What is not given stays as it is.",
    body: body.meta({ id: `Settings-${name}` }),
    reply: ServiceSettings,
    async handle({ body: given, request }, { db, now }) {
      const changes: SettingsChanges = Object.fromEntries(
        all.map((member) => {
          const sent = member.names.find((each) => given[each] !== undefined);
          return [member.setting, sent === undefined ? undefined : given[sent]];
        }),
      );
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

export const settingsRoutes: readonly Route[] = [
  getSettings,
  group("create-permissions", "Set who may create", {
    projectCreatePermission: called(flag(), "enableCreateProject"),
    teamCreatePermission: called(flag(), "enableCreateTeam"),
    companyCreatePermission: called(flag(), "enableCreateCompany"),
    publicRepositoryAutoPermission: flag(),
  }),
  group("2factor", "Set two factor login", { enableTwoFactor: flag() }),
  group("basic-auth", "Set basic authentication", { enableBasicAuth: flag() }),
  group("login-page", "Set login pages", {
    defaultLoginPage: called(LoginPage, "loginPageUrl"),
    enableBasicLoginPage: called(flag(), "isEnableBasic"),
    enableLdapLoginPage: called(flag(), "isEnableLdap"),
    enableSamlLoginPage: called(flag(), "isEnableSaml"),
    enableOidcLoginPage: called(flag(), "isEnableOidc", "isEnableOIDC"),
  }),
  group("project-report", "Set reports", { enableReports: called(flag(), "enableReport") }),
  group("lock-account", "Set account lockout", {
    lockUserAccountIfLoginAttemptsHasBeenExceeded: called(flag(), "lockUser"),
    maxAttemptsToLoginIntoAccount: called(within(1, 1_000), "maxAttempts"),
    timeToLockUser: within(1, minutesMax),
    timeToCountFailUserLoginAttempts: within(1, 31 * 24 * 3_600),
  }),
  group("archive-password", "Set archived passwords", {
    archiveUserPasswordsIsEnabled: called(flag(), "enableArchiveUserPasswords"),
    // Each archived password costs a hash when one is changed.
    maxUserArchivedPasswords: within(0, 24),
  }),
  group("auth-methods", "Set ways to register", {
    disableLdapAuth: flag(),
    disableSamlAuth: flag(),
    disableMailAuth: flag(),
  }),
  group("files", "Set downloads", {
    fileDownloadIsEnabled: flag(),
    pullRepoFromAnonUserIsEnabled: flag(),
    downloadReleaseFromAnonUserIsEnabled: flag(),
  }),
  group("email-validation", "Set email validation", {
    enableEmailValidation: flag(),
    enableDomainValidation: flag(),
    enableWhiteList: flag(),
    whiteListDomains: domains(),
    blackListDomains: domains(),
    userAutoConfirm: flag(),
  }),
  group("api-limit", "Set the API limit", {
    enableApiLimit: flag(),
    userApiCountLimit: within(1, 1_000_000_000),
  }),
  group("ssh", "Set the SSH port", { enableCustomSshPort: flag(), sshPort: within(1, 65_535) }),
  group("registry", "Set access to the registry", { globalRegistryAnonymousAccess: flag() }),
  group("mirrors", "Set mirror intervals", {
    projectUpdateLag: within(1, minutesMax),
    pullMirrorUpdateIntervalMinutes: within(1, minutesMax),
    pushMirrorUpdateIntervalMinutes: within(1, minutesMax),
  }),
  group("session", "Set session inactivity", {
    sessionMaxInactiveIntervalMinutes: within(1, minutesMax),
  }),
];
