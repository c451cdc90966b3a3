import { z } from "zod";

import type { EventSchemas } from "../core/event.ts";
import { IsoInstant, UserId, Uuid } from "../core/ids.ts";
import { streamName } from "../core/stream.ts";

export const AgentId = Uuid.brand("AgentId");
export type AgentId = z.output<typeof AgentId>;

/** What an agent belongs to. It runs jobs of that project, of that company's projects, or of all. */
export const AgentOwner = z.union([
  z.object({ type: z.enum(["PROJECT", "COMPANY"]), id: z.uuid() }),
  z.object({ type: z.literal("GLOBAL"), id: z.null() }),
]);
export type AgentOwner = Readonly<z.output<typeof AgentOwner>>;

export const AgentSettings = z.object({
  name: z.string(),
  description: z.string(),
  /** An inactive agent keeps its registration and gets no jobs. */
  active: z.boolean(),
  tags: z.array(z.string()),
  runUntagged: z.boolean(),
  locked: z.boolean(),
  /** It runs jobs of protected branches and tags only. */
  protected: z.boolean(),
  /** Null: the limit of the job alone counts. */
  maxTimeoutInSec: z.int().positive().nullable(),
});
export type AgentSettings = Readonly<z.output<typeof AgentSettings>>;

/** Contact data (address, platform, last contact) is written too often for events: see agent_contact. */
export const agentEvents = {
  AgentRegistered: z.object({
    agentId: AgentId,
    owner: AgentOwner,
    settings: AgentSettings,
    /** SHA-256 of the agent's token, hex. */
    tokenHash: z.string(),
    registeredAt: IsoInstant,
  }),
  AgentReconfigured: z.object({
    settings: AgentSettings,
    reconfiguredById: UserId,
    reconfiguredAt: IsoInstant,
  }),
  /** The former token stays valid until the new one is used, because the answer may get lost. */
  AgentTokenReset: z.object({ tokenHash: z.string(), resetAt: IsoInstant }),
  AgentTokenConfirmed: z.object({ tokenHash: z.string(), confirmedAt: IsoInstant }),
  AgentRemoved: z.object({
    /** Null: the agent unregistered itself. */
    removedById: UserId.nullable(),
    removedAt: IsoInstant,
  }),
} as const satisfies EventSchemas;

export const agentStream = (id: string): string => streamName("agent", id);

/**
 * Agents know themselves by an integer: the first 52 bits of the id, of which all but 4 are random.
 * Two agents share one with a probability of 1 in 10^8 among 10,000 agents, so what is looked up by it
 * may be several.
 */
export const agentNumber = (id: string): number =>
  Number.parseInt(id.replaceAll("-", "").slice(0, 13), 16);

/** The first and the last id of those that have this number. */
export function agentIdsOfNumber(number: number): readonly [first: string, last: string] {
  const known = number.toString(16).padStart(13, "0");
  const filled = (digit: string): string =>
    known.padEnd(32, digit).replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, "$1-$2-$3-$4-$5");
  return [filled("0"), filled("f")];
}
