import type { Route } from "../../core/route.ts";
import { accountLinkRoutes } from "./account-link.ts";
import { ldapConnectionRoutes } from "./ldap-connection.ts";
import { oidcConnectionRoutes } from "./oidc-connection.ts";
import { samlConnectionRoutes } from "./saml-connection.ts";

export const loginSectionRoutes: readonly Route[] = [
  ...accountLinkRoutes,
  ...ldapConnectionRoutes,
  ...oidcConnectionRoutes,
  ...samlConnectionRoutes,
];
