import { z } from "zod";
import { mustNotBeReserved } from "../../../commands/core/reserved-alias.ts";
import { registerUser } from "../../../commands/user/register-user.ts";
import { Alias, UserId } from "../../../events/core/ids.ts";
import { deterministicId } from "../../../platform/deterministic-id.ts";
import { Refusal } from "../../../platform/refusal.ts";
import { findUserById } from "../../../projections/user/user.ts";
import { anonymousLimit } from "../../access/anonymous-limit.ts";
import { mustBeAllowedEmail, newCountsAsConfirmed } from "../../access/email-rule.ts";
import { commandDeps } from "../../core/command-deps.ts";
import type { Deps } from "../../core/deps.ts";
import type { RequestContext } from "../../core/request.ts";
import { type Route, route } from "../../core/route.ts";
import { accept, invitedAt } from "./invitation.ts";
import { Email, mustBeFound, Password } from "./user.ts";
import { UserView, userView } from "./view.ts";

export const Registration = z
  .object({
    email: Email,
    password: Password,
    alias: Alias,
    invitation: z.string().max(200).optional().meta({
      description: "Token of the link of an invitation: one becomes a member at once.",
    }),
  })
  .meta({ id: "Registration" });

const registerOneself = route({
  method: "post",
  path: "/user/register",
  operationId: "registerOneself",
  summary: "Make an account for oneself",
  description:
    "Unless the administrator has switched registration by e-mail off. When e-mails are validated here, " +
    "a link goes to the address, and nobody can log in before it was used.",
  tag: "Users",
  scope: "none",
  access: "anonymous",
  body: Registration,
  reply: UserView,
  async handle({ body, request }, deps) {
    return userView(await register(body, request, deps));
  },
});

/** @throws Refusal 403 `registration.disabled`, 429, and what is wrong with alias, e-mail or password */
export async function register(
  wanted: z.output<typeof Registration>,
  request: RequestContext,
  deps: Deps,
) {
  const settings = await deps.settings();
  if (settings.disableMailAuth) {
    const message = "Registration is disabled. An administrator creates accounts.";
    throw new Refusal("forbidden", "registration.disabled", message);
  }
  await anonymousLimit(deps, "register", request.ip);
  mustNotBeReserved(wanted.alias);
  mustBeAllowedEmail(wanted.email, settings);
  const userId = UserId.parse(deterministicId(request.commandId, "user"));
  const { email, password, alias, invitation } = wanted;
  const proved = invitation !== undefined && (await invitedAt(invitation, email, deps));
  const confirmed = proved || newCountsAsConfirmed(settings);
  const flags = { admin: false, confirmed, emailProved: proved };
  const newUser = { userId, email, password, alias, ...flags };
  await request.executeProcess((metadata) => registerUser(commandDeps(deps), newUser, metadata));
  if (invitation !== undefined) await accept(invitation, userId, request, deps);
  return mustBeFound(await findUserById(deps.db, userId));
}

export const userRegistrationRoutes: readonly Route[] = [registerOneself];
