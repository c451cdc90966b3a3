import { randomUUID } from "node:crypto";
import { z } from "zod";

import { handle } from "../../../commands/core/handle.ts";
import { readLink } from "../../../commands/user/link-token.ts";
import { type RecoveryCommand, recovery } from "../../../commands/user/recovery.ts";
import { confirmEmail, resetPassword, takeBackEmail } from "../../../commands/user/use-link.ts";
import { normaliseEmail } from "../../../commands/user/user-name.ts";
import { anonymousLimit } from "../../access/anonymous-limit.ts";
import { commandDeps } from "../../core/command-deps.ts";
import type { Deps } from "../../core/deps.ts";
import type { RequestContext } from "../../core/request.ts";
import { type Route, route } from "../../core/route.ts";
import { archivedPasswords, mustBeConfirmed } from "../user/account.ts";
import { Email, Password } from "../user/user.ts";

export type RecoveryCommandType = RecoveryCommand["type"];

const common = {
  method: "post",
  tag: "Account recovery",
  scope: "none",
  access: "anonymous",
  reply: "empty",
} as const;

const Address = z.object({ email: Email }).meta({ id: "Address" });
const Token = z.string().max(200).meta({ description: "What the link of the mail ends in." });
const LinkToken = z.object({ token: Token }).meta({ id: "LinkToken" });

const sameAnswer =
  "The answer is the same whether or not there is such an account. At most three mails an hour go to " +
  "one address.";

const postPasswordReset = route({
  ...common,
  path: "/user/password-reset",
  operationId: "askForPasswordReset",
  summary: "Ask for a link to set a new password",
  description: sameAnswer,
  body: Address,
  handle: ({ body, request }, deps) =>
    requestLink("RequestPasswordReset", body.email, request, deps),
});

const postEmailConfirmation = route({
  ...common,
  path: "/user/email-confirmation",
  operationId: "askForEmailConfirmation",
  summary: "Ask for the link that confirms an e-mail again",
  description: sameAnswer,
  body: Address,
  handle: ({ body, request }, deps) =>
    requestLink("RequestEmailConfirmation", body.email, request, deps),
});

const confirmOwnEmail = route({
  ...common,
  path: "/user/email-confirmation/confirm",
  operationId: "confirmEmail",
  summary: "Confirm an e-mail by the link that was sent to it",
  body: LinkToken,
  handle: ({ body, request }, deps) => confirm(body.token, request, deps),
});

/** @throws Refusal 422 `link.invalid`, 429 */
export async function confirm(token: string, request: RequestContext, deps: Deps): Promise<void> {
  await anonymousLimit(deps, "link", request.ip);
  await request.executeProcess((metadata) =>
    confirmEmail(commandDeps(deps), token, byMail(metadata)),
  );
}

const takeBackOwnEmail = route({
  ...common,
  path: "/user/email-change/take-back",
  operationId: "takeBackEmail",
  summary: "Take a former e-mail back by the link that was sent to it",
  description:
    "A person who changes their e-mail gets a link at the former address. For 7 days it makes that " +
    "address the account's again and ends the links of later ones.",
  body: LinkToken,
  handle: ({ body, request }, deps) => takeBack(body.token, request, deps),
});

/** @throws Refusal 422 `link.invalid`, `email.taken`, 429 */
export async function takeBack(token: string, request: RequestContext, deps: Deps): Promise<void> {
  await anonymousLimit(deps, "link", request.ip);
  await request.executeProcess((metadata) =>
    takeBackEmail(commandDeps(deps), token, byMail(metadata)),
  );
}

/** More than an account can have former addresses. */
const otherTokensMax = 10;

export const ResetForm = z
  .object({
    token: Token,
    otherTokens: z
      .array(Token)
      .max(otherTokensMax)
      .default([])
      .meta({ description: "Of the mails to former addresses, while those can be taken back." }),
    password: Password,
    passwordConfirm: z.string().max(512),
  })
  .meta({ id: "PasswordReset" });

const confirmPasswordReset = route({
  ...common,
  path: "/user/password-reset/confirm",
  operationId: "resetPassword",
  summary: "Set a new password by the link that was sent",
  description:
    "Sessions of the account end. For 7 days after a change of the e-mail the links of the mails to " +
    "the former addresses are needed as well: 422 `link.more_needed`.",
  body: ResetForm,
  handle: ({ body, request }, deps) => reset(body, request, deps),
});

/** @throws Refusal 422 `link.invalid`, `link.more_needed`, `password.confirmation`, `password.archived`, 429 */
export async function reset(
  form: z.output<typeof ResetForm>,
  request: RequestContext,
  deps: Deps,
): Promise<void> {
  await anonymousLimit(deps, "link", request.ip);
  mustBeConfirmed(form);
  const { token, otherTokens, password } = form;
  const tokens = [token, ...otherTokens];
  const wanted = { tokens, password, unlike: archivedPasswords(await deps.settings()) };
  await request.executeProcess((metadata) =>
    resetPassword(commandDeps(deps), wanted, byMail(metadata)),
  );
  const account = readLink(token)?.holderId ?? "";
  // Otherwise endless guesses from elsewhere could keep the owner out of every new address for good.
  await deps.lockout.know({ account, ip: request.ip });
}

/**
 * Records the request, and no more: whether an account has this address is found out later, so neither the
 * answer nor the time it takes depends on it.
 */
export async function requestLink(
  type: RecoveryCommandType,
  email: string,
  request: RequestContext,
  deps: Deps,
): Promise<void> {
  const { store, vault, now } = deps;
  await anonymousLimit(deps, "ask", request.ip);
  const emailDigest = vault.digest("email", normaliseEmail(email));
  const command = { type, emailDigest, at: now().toISOString() };
  // Has no idempotency key: the caller is not known.
  const metadata = { ...(await request.metadata()), commandId: randomUUID() };
  await handle(store, recovery, { id: emailDigest, command, metadata });
}

type Metadata = Awaited<ReturnType<RequestContext["metadata"]>>;

/** Who holds the link has read the mail; nothing else is known of them. */
function byMail(metadata: Metadata): Metadata {
  return { ...metadata, actor: { ...metadata.actor, userId: null, alias: null, via: "mail" } };
}

export const accountLinkRoutes: readonly Route[] = [
  confirmOwnEmail,
  confirmPasswordReset,
  postEmailConfirmation,
  postPasswordReset,
  takeBackOwnEmail,
];
