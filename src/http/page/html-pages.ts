import { ldapLoginPages } from "../protocol/ldap/login.ts";
import { oauthPages } from "../protocol/oauth/authorize.ts";
import { oidcLoginPages } from "../protocol/oidc/login.ts";
import { samlLoginPages } from "../protocol/saml/login.ts";
import { consolePages } from "./account/console.ts";
import { identityPages } from "./account/identity.ts";
import { sshKeyPages } from "./account/ssh-key.ts";
import { twoFactorPages } from "./account/two-factor.ts";
import { unsubscribePages } from "./account/unsubscribe-page.ts";
import type { PageRoute } from "./core/route.ts";
import { icons, style } from "./core/style.ts";
import { accountPages } from "./login/account-page.ts";
import { loginCodePages } from "./login/code.ts";
import { loginPage, logout, submitLogin } from "./login/login.ts";
import { sitePages } from "./pages.ts";

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
