import { z } from "zod";

import type { EventSchemas } from "../core/event.ts";
import { IsoInstant, UserId } from "../core/ids.ts";
import { streamName } from "../core/stream.ts";
import { AgentOwner } from "./agent.ts";

export const registrationEvents = {
  /** The only valid registration token of its owner from here on. */
  RegistrationTokenIssued: z.object({
    owner: AgentOwner,
    /** Counted from 1. The text of the token follows from owner and generation, and is not stored. */
    generation: z.int().positive(),
    /** SHA-256, hex. */
    tokenHash: z.string(),
    issuedById: UserId,
    issuedAt: IsoInstant,
  }),
} as const satisfies EventSchemas;

/** @param id of the owner, as `registrationIdOf` says */
export const registrationStream = (id: string): string => streamName("agentRegistration", id);

export const registrationIdOf = ({ id }: AgentOwner): string => id ?? "instance";
