import type { Settings } from "../events/settings.ts";
import { Refusal } from "../platform/refusal.ts";

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
  throw new Refusal("unprocessable", "email.domain_forbidden", message, {
    errors: [{ field: "email", code: "email.domain_forbidden", message }],
  });
}

/** Whether an e-mail that nobody has proved counts as confirmed. */
export function countsAsConfirmed(settings: Settings): boolean {
  return settings.userAutoConfirm || !settings.enableEmailValidation;
}
