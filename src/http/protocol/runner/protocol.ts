import { z } from "zod";

import { agent } from "../../../commands/agent/agent.ts";
import { agentActor } from "../../../events/agent/actor.ts";
import {
  AgentId,
  type AgentOwner,
  type AgentSettings,
  agentNumber,
} from "../../../events/agent/agent.ts";
import { deterministicId } from "../../../platform/deterministic-id.ts";
import { derivedToken, hashToken, tokenPrefixes } from "../../../platform/key/token.ts";
import { Refusal } from "../../../platform/refusal.ts";
import { findRegistrationByToken, type RegistrationRow } from "../../../projections/agent/agent.ts";
import { forgetContact, noteContact } from "../../../projections/agent/contact.ts";
import { anonymousLimit } from "../../access/anonymous-limit.ts";
import { AgentDescription, AgentName, AgentTags } from "../../api/agent/agent.ts";
import type { Deps } from "../../core/deps.ts";
import type { RequestContext } from "../../core/request.ts";
import { type Route, route } from "../../core/route.ts";
import { bool, int } from "../../core/schema.ts";
import {
  AgentCredentials,
  AgentInfo,
  agentOf,
  authenticatedAgent,
  badToken,
  contactOf,
  leaveNoted,
  sentToken,
} from "./authentication.ts";

export const protocol = { tag: "Agent protocol", scope: "none", access: "agent" } as const;
const base = "/api/v4/runners";

export const RegisteredView = z
  .object({
    id: z.int(),
    token: z.string(),
    token_expires_at: z.null().meta({ description: "Tokens do not expire." }),
  })
  .meta({ id: "RegisteredAgent" });

const NewAgent = z
  .object({
    token: z.string().max(255),
    description: AgentName.default(""),
    maintenance_note: AgentDescription.default(""),
    /** One text, as the command line takes it. */
    tag_list: z
      .string()
      .max(20_000)
      .transform((text) => text.split(",").flatMap((tag) => tag.trim() || []))
      .pipe(AgentTags)
      .default([]),
    run_untagged: bool().optional(),
    locked: bool().default(true),
    access_level: z.enum(["not_protected", "ref_protected"]).default("not_protected"),
    maximum_timeout: int({ min: 0, max: 30 * 24 * 3_600 }).default(0),
    paused: bool().default(false),
    info: AgentInfo.default({}),
  })
  .meta({ id: "NewAgent" });

const register = route({
  ...protocol,
  method: "post",
  path: base,
  operationId: "registerAgent",
  summary: "Register an agent with a registration token",
  secret: true,
  status: 201,
  body: NewAgent,
  reply: RegisteredView,
  async handle({ body, request }, deps) {
    const owner = await registeringOwner(deps, request, body.token);
    const agentId = AgentId.parse(deterministicId(request.commandId, "agent"));
    const token = agentToken(deps, request);
    const command = {
      type: "RegisterAgent",
      agentId,
      owner,
      settings: settingsOf(body),
      tokenHash: hashToken(token),
      at: deps.now().toISOString(),
    } as const;
    request.actBy(agentActor(agentId));
    await request.execute(agent, agentId, command);
    const contact = contactOf(agentId, request.ip, { system_id: "", info: body.info });
    await noteContact(deps.db, { ...contact, connected_at: deps.now() });
    return { id: agentNumber(agentId), token, token_expires_at: null };
  },
});

function settingsOf(body: z.output<typeof NewAgent>): AgentSettings {
  const { description, maintenance_note, tag_list: tags, maximum_timeout } = body;
  return {
    name: description || "agent",
    description: maintenance_note,
    active: !body.paused,
    tags,
    runUntagged: body.run_untagged ?? tags.length === 0,
    locked: body.locked,
    protected: body.access_level === "ref_protected",
    maxTimeoutInSec: maximum_timeout === 0 ? null : maximum_timeout,
  };
}

/** @throws Refusal 403; 429 after many wrong tokens from one network */
async function registeringOwner(
  deps: Deps,
  request: RequestContext,
  token: string,
): Promise<AgentOwner> {
  const row = await findRegistrationByToken(deps.db, hashToken(token));
  if (row !== undefined) return ownerOf(row);
  await anonymousLimit(deps, "register", request.ip);
  throw badToken();
}

function ownerOf({ owner_type, owner_id }: RegistrationRow): AgentOwner {
  if (owner_type === "GLOBAL" || owner_id === null) return { type: "GLOBAL", id: null };
  return { type: owner_type, id: owner_id };
}

const verify = route({
  ...protocol,
  method: "post",
  path: `${base}/verify`,
  operationId: "verifyAgent",
  summary: "Check the token of an agent",
  secret: true,
  body: AgentCredentials.meta({ id: "AgentProof" }),
  reply: RegisteredView,
  async handle({ body, request }, deps) {
    const { id } = await authenticatedAgent(request, deps, body);
    const token = sentToken(request, "runner-token", body.token);
    return { id: agentNumber(id), token, token_expires_at: null };
  },
});

const resetToken = route({
  ...protocol,
  method: "post",
  path: `${base}/reset_authentication_token`,
  operationId: "resetAgentToken",
  summary: "Issue another token for an agent",
  description: "The former token stays valid until the new one is used.",
  secret: true,
  status: 201,
  body: AgentCredentials,
  reply: RegisteredView,
  async handle({ body, request }, deps) {
    const { id } = await authenticatedAgent(request, deps, body);
    return await issueToken(request, deps, id);
  },
});

const agentToken = ({ vault }: Pick<Deps, "vault">, { commandId }: RequestContext): string =>
  derivedToken(vault, { prefix: tokenPrefixes.agent, purpose: "agent token", of: commandId });

/** Appends the hash of another token for an agent. Answers the token, which is not kept. */
export async function issueToken(
  request: RequestContext,
  deps: Pick<Deps, "now" | "vault">,
  id: AgentId,
): Promise<z.output<typeof RegisteredView>> {
  const token = agentToken(deps, request);
  const at = deps.now().toISOString();
  await request.execute(agent, id, { type: "ResetAgentToken", tokenHash: hashToken(token), at });
  return { id: agentNumber(id), token, token_expires_at: null };
}

const unregister = route({
  ...protocol,
  method: "delete",
  path: base,
  operationId: "unregisterAgent",
  summary: "Remove an agent, by itself",
  status: 204,
  body: AgentCredentials,
  reply: "empty",
  async handle({ body, request }, deps) {
    const { id } = await agentOf(request, deps, body.token);
    const command = { type: "RemoveAgent", by: null, at: deps.now().toISOString() } as const;
    await request.execute(agent, id, command);
    await forgetContact(deps.db, id);
  },
});

const unregisterProcess = route({
  ...protocol,
  method: "delete",
  path: `${base}/managers`,
  operationId: "unregisterAgentProcess",
  summary: "Forget one of the machines that use the token of an agent",
  status: 204,
  body: AgentCredentials,
  reply: "empty",
  errors: [404],
  async handle({ body, request }, deps) {
    const { id } = await agentOf(request, deps, body.token);
    leaveNoted(id, body.system_id);
    if (await forgetContact(deps.db, id, body.system_id)) return;
    throw new Refusal("not_found", "agent.process_not_found", "No such system_id of this agent.");
  },
});

export const agentProtocolRoutes: readonly Route[] = [
  register,
  verify,
  resetToken,
  unregister,
  unregisterProcess,
];
