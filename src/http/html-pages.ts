import { consolePages } from "./console/console.ts";
import { identityPages } from "./console/identity.ts";
import { sshKeyPages } from "./console/ssh-key.ts";
import { twoFactorPages } from "./console/two-factor.ts";
import { accountPages } from "./login/account-page.ts";
import { loginCodePages } from "./login/code.ts";
import { ldapLoginPages } from "./login/ldap-login.ts";
import { loginPage, logout, submitLogin } from "./login/login.ts";
import { oidcLoginPages } from "./login/oidc-login.ts";
import { samlLoginPages } from "./login/saml-login.ts";
import { oauthPages } from "./oauth/authorize.ts";
import type { PageRoute } from "./page/route.ts";
import { icons, style } from "./page/style.ts";
import { sitePages } from "./site/pages.ts";
import { unsubscribePages } from "./user/unsubscribe-page.ts";

/** Every declared page. What is not here is not shown. */
export const pages: readonly PageRoute[] = [
  ...accountPages,
  ...consolePages,
  ...icons,
  ...identityPages,
  ...ldapLoginPages,
  ...oidcLoginPages,
  ...samlLoginPages,
  ...sitePages,
  ...loginCodePages,
  ...oauthPages,
  ...sshKeyPages,
  ...twoFactorPages,
  ...unsubscribePages,
  loginPage,
  logout,
  style,
  submitLogin,
];
