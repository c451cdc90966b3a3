import { z } from "zod";

import { registration } from "../../../commands/agent/registration.ts";
import type { AgentOwner } from "../../../events/agent/agent.ts";
import { registrationIdOf } from "../../../events/agent/registration.ts";
import { derivedToken, hashToken, tokenPrefixes } from "../../../platform/key/token.ts";
import { Refusal } from "../../../platform/refusal.ts";
import { findRegistration } from "../../../projections/agent/agent.ts";
import type { Deps } from "../../core/deps.ts";
import type { RequestFor } from "../../core/request.ts";
import { type Route, route } from "../../core/route.ts";
import {
  type AgentOwnerScope,
  agentOwnerScopes,
  type InOwnerScope,
  ownerAt,
  writing,
} from "./owner-scope.ts";

export const RegistrationInfoView = z
  .object({
    id: z.string().meta({ description: "Of the project or company; `instance` for all." }),
    registrationUrl: z.string().meta({ description: "What an agent is given as its URL." }),
    registrationToken: z.string(),
  })
  .meta({ id: "AgentRegistrationInfo" });

/**
 * The text of a registration token. It follows from the secret key of the instance, so that it can be
 * shown again without being stored.
 */
export function registrationToken(
  { vault }: Pick<Deps, "vault">,
  owner: AgentOwner,
  generation: number,
): string {
  const of = `${owner.type}:${owner.id ?? ""}:${generation}`;
  return derivedToken(vault, { prefix: tokenPrefixes.runner, purpose: "agent registration", of });
}

export const registrationRoutes: readonly Route[] = agentOwnerScopes.flatMap((ownerScope) => [
  show(ownerScope),
  reset(ownerScope),
]);

function show(ownerScope: AgentOwnerScope): Route {
  const { noun, base } = ownerScope;
  return route({
    ...writing(ownerScope),
    method: "get",
    path: `${base}/registration-info`,
    operationId: `get${noun}AgentRegistration`,
    summary: "Get what an agent needs to register",
    description: "The first request issues the token.",
    secret: true,
    reply: RegistrationInfoView,
    errors: [404],
    async handle({ request }, deps) {
      const at = request as InOwnerScope & RequestFor<"admin">;
      const row = await findRegistration(deps.db, registrationIdOf(ownerAt(at)));
      return row === undefined ? issue(deps, at, 1) : viewOf(deps, ownerAt(at), row.generation);
    },
  });
}

function reset(ownerScope: AgentOwnerScope): Route {
  const { noun, base } = ownerScope;
  return route({
    ...writing(ownerScope),
    method: "post",
    path: `${base}/registration-info/reset`,
    operationId: `reset${noun}AgentRegistration`,
    summary: "Issue another registration token",
    description: "The former one is invalid at once. Registered agents are not concerned.",
    secret: true,
    reply: RegistrationInfoView,
    errors: [404],
    async handle({ request }, deps) {
      const at = request as InOwnerScope & RequestFor<"admin">;
      const row = await findRegistration(deps.db, registrationIdOf(ownerAt(at)));
      return issue(deps, at, (row?.generation ?? 0) + 1);
    },
  });
}

async function issue(
  deps: Deps,
  request: InOwnerScope & RequestFor<"admin">,
  generation: number,
): Promise<z.input<typeof RegistrationInfoView>> {
  const owner = ownerAt(request);
  const tokenHash = hashToken(registrationToken(deps, owner, generation));
  const { userId: by } = request;
  const at = deps.now().toISOString();
  const command = { type: "IssueRegistrationToken", owner, generation, tokenHash, by, at } as const;
  await request.execute(registration, registrationIdOf(owner), command);
  const row = await findRegistration(deps.db, registrationIdOf(owner));
  if (row === undefined) {
    throw new Refusal("unavailable", "agent.registration_pending", "Try again in a moment.");
  }
  return viewOf(deps, owner, row.generation);
}

function viewOf(deps: Deps, owner: AgentOwner, generation: number) {
  return {
    id: registrationIdOf(owner),
    registrationUrl: deps.publicUrl,
    registrationToken: registrationToken(deps, owner, generation),
  };
}
