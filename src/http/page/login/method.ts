import type { LoginPage, Settings } from "../../../events/instance/settings.ts";
import { unreachable } from "../../../platform/invariant.ts";
import type { Deps } from "../../core/deps.ts";
import { connectionLinks, type LoginLink, type LoginMethod } from "./connection-link.ts";

/** Every method there is, in the order the login page shows them. */
export const loginMethods: readonly LoginMethod[] = (["LDAP", "SAML", "OIDC"] as const).map(
  connectionLinks,
);

/** Whether the administrator lets this method be used. */
export function isOffered(kind: LoginPage, settings: Settings): boolean {
  switch (kind) {
    case "BASIC":
      return settings.enableBasicLoginPage;
    case "LDAP":
      return settings.enableLdapLoginPage;
    case "SAML":
      return settings.enableSamlLoginPage;
    case "OIDC":
      return settings.enableOidcLoginPage;
    default:
      return unreachable(kind);
  }
}

export type OfferedLink = LoginLink & Readonly<{ kind: LoginPage }>;

/** What is offered beside the password, the default method first. */
export async function offeredLinks(
  methods: readonly LoginMethod[],
  settings: Settings,
  returnTo: string,
  deps: Deps,
): Promise<readonly OfferedLink[]> {
  const offered = methods.filter(({ kind }) => isOffered(kind, settings));
  const found = await Promise.all(
    offered.map(async ({ kind, links }) =>
      (await links(deps, returnTo)).map((link) => ({ ...link, kind })),
    ),
  );
  const rank = ({ kind }: OfferedLink) => (kind === settings.defaultLoginPage ? 0 : 1);
  return found.flat().sort((a, b) => rank(a) - rank(b));
}
