import type { Settings } from "../../events/instance/settings.ts";
import { Refusal } from "../../platform/refusal.ts";
import type { UserRow } from "../../projections/user/user.ts";
import { fieldRefusal } from "../core/schema.ts";

/**
 * Whether accounts here may have this e-mail: with the white list only from its domains, otherwise
 * from all but those of the black list. A domain's subdomains are other domains.
 *
 * @throws Refusal 422 `email.domain_forbidden`
 */
export function mustBeAllowedEmail(email: string, settings: Settings): void {
  if (!settings.enableDomainValidation) return;
  const domain = email.slice(email.lastIndexOf("@") + 1).toLowerCase();
  const { enableWhiteList, whiteListDomains, blackListDomains } = settings;
  const allowed = enableWhiteList
    ? whiteListDomains.includes(domain)
    : !blackListDomains.includes(domain);
  if (allowed) return;
  const message = "E-mails of this domain are not accepted here.";
  throw fieldRefusal("email", "email.domain_forbidden", message);
}

/** Whether the e-mail of a new account counts as confirmed without proof. */
export function newCountsAsConfirmed(settings: Settings): boolean {
  return settings.userAutoConfirm || !settings.enableEmailValidation;
}

/** The same of an e-mail that its owner changes to: confirming automatically is for new accounts. */
export function changedCountsAsConfirmed(settings: Settings): boolean {
  return !settings.enableEmailValidation;
}

/**
 * Whether an authenticated user may log in, by whatever method. Administrators always
 * may: they must be able to repair a mail server that does not send.
 *
 * @throws Refusal 403 `auth.unconfirmed`
 */
export function mustHaveProvedEmail(
  { is_confirmed, is_admin }: Pick<UserRow, "is_confirmed" | "is_admin">,
  { enableEmailValidation }: Settings,
): void {
  if (is_confirmed || is_admin || !enableEmailValidation) return;
  const message =
    "The e-mail address of this account is not confirmed yet: use the link that was sent to it.";
  throw new Refusal("forbidden", "auth.unconfirmed", message);
}
