import { accountPages } from "./account-page.ts";
import { consolePages } from "./console.ts";
import { identityPages } from "./console-identity.ts";
import { twoFactorPages } from "./console-two-factor.ts";
import { ldapLoginPages } from "./ldap-login.ts";
import { loginPage, logout, submitLogin } from "./login.ts";
import { loginCodePages } from "./login-code.ts";
import { oauthPages } from "./oauth-authorize.ts";
import { oidcLoginPages } from "./oidc-login.ts";
import type { PageRoute } from "./page-route.ts";
import { samlLoginPages } from "./saml-login.ts";
import { style } from "./style.ts";

/** Every declared page. What is not here is not shown. */
export const pages: readonly PageRoute[] = [
  ...accountPages,
  ...consolePages,
  ...identityPages,
  ...ldapLoginPages,
  ...oidcLoginPages,
  ...samlLoginPages,
  ...loginCodePages,
  ...oauthPages,
  ...twoFactorPages,
  loginPage,
  logout,
  style,
  submitLogin,
];
