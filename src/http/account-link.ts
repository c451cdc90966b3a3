import { randomUUID } from "node:crypto";
import { z } from "zod";

import { handle } from "../commands/handle.ts";
import { readLink } from "../commands/process/link-token.ts";
import { confirmEmail, resetPassword } from "../commands/process/use-link.ts";
import { normaliseEmail } from "../commands/process/user-name.ts";
import { type RecoveryCommand, recovery } from "../commands/recovery.ts";
import { anonymousLimit } from "./anonymous-limit.ts";
import { commandDeps } from "./command-deps.ts";
import type { Deps } from "./deps.ts";
import type { RequestContext } from "./request.ts";
import { route } from "./route.ts";
import { Email, Password } from "./user.ts";
import { archivedPasswords, mustBeConfirmed } from "./user-account.ts";

export type Asked = RecoveryCommand["type"];

const common = {
  method: "post",
  tag: "Account recovery",
  scope: "none",
  access: "anonymous",
  reply: "empty",
} as const;

const Address = z.object({ email: Email }).meta({ id: "Address" });
const Token = z.string().max(200).meta({ description: "What the link of the mail ends in." });

const sameAnswer =
  "The answer is the same whether or not there is such an account. At most three mails an hour go to " +
  "one address.";

export const postPasswordReset = route({
  ...common,
  path: "/user/password-reset",
  operationId: "askForPasswordReset",
  summary: "Ask for a link to set a new password",
  description: sameAnswer,
  body: Address,
  errors: [422],
  handle: ({ body, request }, deps) => ask("AskPasswordReset", body.email, request, deps),
});

export const postEmailConfirmation = route({
  ...common,
  path: "/user/email-confirmation",
  operationId: "askForEmailConfirmation",
  summary: "Ask for the link that confirms an e-mail again",
  description: sameAnswer,
  body: Address,
  errors: [422],
  handle: ({ body, request }, deps) => ask("AskEmailConfirmation", body.email, request, deps),
});

export const confirmOwnEmail = route({
  ...common,
  path: "/user/email-confirmation/confirm",
  operationId: "confirmEmail",
  summary: "Confirm an e-mail by the link that was sent to it",
  body: z.object({ token: Token }).meta({ id: "LinkToken" }),
  errors: [422],
  handle: ({ body, request }, deps) => confirm(body.token, request, deps),
});

/** @throws Refusal 422 `link.invalid`, 429 */
export async function confirm(token: string, request: RequestContext, deps: Deps): Promise<void> {
  await anonymousLimit(deps, "link", request.ip);
  const metadata = byMail(await request.metadata());
  await request.visible((await confirmEmail(commandDeps(deps), token, metadata)).position);
}

export const ResetForm = z
  .object({ token: Token, password: Password, passwordConfirm: z.string().max(512) })
  .meta({ id: "PasswordReset" });

export const confirmPasswordReset = route({
  ...common,
  path: "/user/password-reset/confirm",
  operationId: "resetPassword",
  summary: "Set a new password by the link that was sent",
  description: "Sessions of the account end.",
  body: ResetForm,
  errors: [422],
  handle: ({ body, request }, deps) => reset(body, request, deps),
});

/** @throws Refusal 422 `link.invalid`, `password.confirmation`, `password.archived`, 429 */
export async function reset(
  form: z.output<typeof ResetForm>,
  request: RequestContext,
  deps: Deps,
): Promise<void> {
  await anonymousLimit(deps, "link", request.ip);
  mustBeConfirmed(form);
  const { token, password } = form;
  const wanted = { token, password, unlike: archivedPasswords(await deps.settings()) };
  const metadata = byMail(await request.metadata());
  await request.visible((await resetPassword(commandDeps(deps), wanted, metadata)).position);
  const account = readLink(token)?.holderId ?? "";
  // Or whoever guesses without end, elsewhere, could keep the owner out of every new address for good.
  await deps.lockout.know({ account, ip: request.ip });
}

/**
 * Notes the wish, and no more: whether somebody has this address is found out later, so neither the
 * answer nor the time it takes depends on it.
 */
export async function ask(
  type: Asked,
  email: string,
  request: RequestContext,
  deps: Deps,
): Promise<void> {
  const { store, vault, now } = deps;
  await anonymousLimit(deps, "ask", request.ip);
  const emailDigest = vault.digest("email", normaliseEmail(email));
  const command = { type, emailDigest, at: now().toISOString() };
  // Never repeated under a key: nobody is known here.
  const metadata = { ...(await request.metadata()), commandId: randomUUID() };
  await handle(store, recovery, { id: emailDigest, command, metadata });
}

type Metadata = Awaited<ReturnType<RequestContext["metadata"]>>;

/** Who holds the link has read the mail; nothing else is known of them. */
function byMail(metadata: Metadata): Metadata {
  return { ...metadata, actor: { ...metadata.actor, userId: null, alias: null, via: "mail" } };
}
