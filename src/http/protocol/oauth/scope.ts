import { Scope } from "../../../events/token/access-token.ts";

/** Scopes by comma or space, as clients write them; undefined when there is none or an unknown one. */
export function parseScopes(text: string): readonly Scope[] | undefined {
  const names = text.split(/[\s,]+/).filter((name) => name !== "");
  const scopes = names.flatMap((name) => Scope.options.filter((scope) => scope === name));
  return scopes.length === names.length && names.length > 0 ? [...new Set(scopes)] : undefined;
}

/** What a person agrees to, in words. */
export const scopeTexts: Readonly<Record<Scope, string>> = {
  USER_READ: "read your account with its e-mail, keys and settings",
  USER_WRITE: "change your account: profile, alias, e-mail, keys, tokens and applications",
  PROJECT_READ: "read all projects that you can read, private ones too",
  PROJECT_WRITE: "push, create projects and change what is in them",
  PROJECT_EDIT: "change settings, members and webhooks of your projects",
  TEAM_READ: "read your teams",
  TEAM_WRITE: "create and change teams and their members",
  COMPANY_READ: "read your companies",
  COMPANY_WRITE: "create and change companies and their members",
  READ_REGISTRY: "download packages",
  WRITE_REGISTRY: "publish and delete packages",
};
