import { LRUCache } from "lru-cache";
import { z } from "zod";

import { agent } from "../../../commands/agent/agent.ts";
import { handle } from "../../../commands/core/handle.ts";
import { agentActor } from "../../../events/agent/actor.ts";
import { bySystem } from "../../../events/core/system.ts";
import { deterministicId } from "../../../platform/deterministic-id.ts";
import { hashToken, isToken } from "../../../platform/key/token.ts";
import { keyedLock } from "../../../platform/keyed-lock.ts";
import { Refusal } from "../../../platform/refusal.ts";
import { type AgentRow, findAgentByToken } from "../../../projections/agent/agent.ts";
import { type AgentContactRow, noteContact } from "../../../projections/agent/contact.ts";
import type { Deps } from "../../core/deps.ts";
import type { RequestContext } from "../../core/request.ts";

/** How long names of platforms, versions and the like are; more is cut. */
const nameMax = 255;
/** Longer texts are left out, not cut. */
const sentMax = 4_096;
const systemIdMax = 64;
/** So often at most the contact of an agent is written that says nothing new. */
export const contactEveryMs = 5_000;

const Name = z
  .string()
  .max(sentMax)
  .catch("")
  .transform((text) => text.slice(0, nameMax));

/** What agents say of themselves. What is not understood is left out: it decides about nothing else. */
export const AgentInfo = z
  .object({
    version: Name,
    platform: Name,
    architecture: Name,
    executor: Name,
    features: z.record(z.string().max(nameMax), z.unknown()).catch({}),
  })
  .partial()
  .catch({});

export const AgentCredentials = z.object({
  token: z.string().max(nameMax).default(""),
  system_id: z.string().max(systemIdMax).default(""),
  info: AgentInfo.default({}),
});
export type AgentCredentials = z.output<typeof AgentCredentials>;

/**
 * The token of a request, from the header or the body.
 *
 * @throws Refusal 403 when both are given and differ, or neither
 */
export function sentToken(request: RequestContext, header: string, inBody: string): string {
  const inHeader = request.header(header);
  const token = inHeader === "" ? inBody : inHeader;
  if (!isToken(token) || (inBody !== "" && token !== inBody)) throw badToken();
  return token;
}

/** @throws Refusal 403 */
export async function agentOf(
  request: RequestContext,
  { db }: Pick<Deps, "db">,
  inBody: string,
): Promise<AgentRow> {
  const tokenHash = hashToken(sentToken(request, "runner-token", inBody));
  const row = await findAgentByToken(db, tokenHash);
  if (row === undefined) throw badToken();
  request.actBy(agentActor(row.id));
  return row;
}

/**
 * The authenticated agent of a request. Its contact is noted, and a new token that it uses for
 * the first time is confirmed, which ends the former one.
 *
 * @throws Refusal 403
 */
export async function authenticatedAgent(
  request: RequestContext,
  deps: Deps,
  { token, system_id, info }: AgentCredentials,
): Promise<AgentRow> {
  const row = await agentOf(request, deps, token);
  const tokenHash = hashToken(sentToken(request, "runner-token", token));
  const at = deps.now();
  await noteNews(deps, contactOf(row.id, request.ip, { system_id, info }), at);
  if (row.former_token_hash !== null && row.token_hash === tokenHash) {
    const commandId = deterministicId("confirm agent token", row.id, tokenHash);
    const command = { type: "ConfirmAgentToken", tokenHash, at: at.toISOString() } as const;
    const order = {
      id: row.id,
      command,
      metadata: { ...bySystem({ commandId }, at.toISOString()), actor: agentActor(row.id) },
    };
    await deps.visible((await handle(deps.store, agent, order)).position);
  }
  return row;
}

/** What an agent says of itself, but for the time. */
export const contactOf = (
  agentId: string,
  ip: string,
  { system_id, info }: Pick<AgentCredentials, "system_id" | "info">,
): Omit<AgentContactRow, "connected_at"> => ({
  agent_id: agentId,
  system_id,
  ip,
  platform: info.platform ?? "",
  architecture: info.architecture ?? "",
  version: info.version ?? "",
  executor: info.executor ?? "",
  features: featuresOf(info.features ?? {}),
});

/** What this process wrote of a contact, and when; by agent and machine. */
const noted = new LRUCache<string, Readonly<{ text: string; at: Date }>>({ max: 10_000 });
const notedKey = (agentId: string, systemId: string): string => `${agentId} ${systemId}`;

const inTurn = keyedLock();

/**
 * An agent that works polls many times a minute and says the same. What it says at once is written into one row, one
 * after another: writers that waited in the database would hold all connections of this process.
 */
async function noteNews(
  { db }: Pick<Deps, "db">,
  about: Omit<AgentContactRow, "connected_at">,
  at: Date,
): Promise<void> {
  const key = notedKey(about.agent_id, about.system_id);
  const known = noted.get(key);
  const text = JSON.stringify(about);
  const age = at.getTime() - (known?.at.getTime() ?? 0);
  if (known?.text === text && age >= 0 && age < contactEveryMs) return;
  noted.set(key, { text, at });
  await inTurn(key, async () => {
    // Something newer waits behind it, or the contact was forgotten.
    if (noted.get(key)?.text !== text) return;
    await noteContact(db, { ...about, connected_at: at });
  });
}

/** A contact that was forgotten is written again with the next request. */
export const leaveNoted = (agentId: string, systemId: string): void =>
  void noted.delete(notedKey(agentId, systemId));

export function featuresOf(features: Readonly<Record<string, unknown>>): readonly string[] {
  return Object.keys(features)
    .filter((name) => features[name] === true)
    .sort()
    .slice(0, 100);
}

export function badToken(): Refusal {
  const message = "The token is missing, malformed, unknown or no longer valid.";
  return new Refusal("forbidden", "agent.token_invalid", message);
}
