import type { Knex } from "knex";

import {
  type AgentId,
  type AgentOwner,
  type AgentSettings,
  agentEvents,
} from "../../events/agent/agent.ts";
import { registrationEvents, registrationIdOf } from "../../events/agent/registration.ts";
import { idInStream } from "../../events/core/stream.ts";
import { announce, change, put, remove, statement } from "../core/change.ts";
import { purgeEvents } from "../core/purge.ts";
import { defineReadModel } from "../core/read-model.ts";
import { column, defineTable, type RowOf } from "../core/table.ts";
import { newestFirst, type Part, type Slice } from "../list/list-rows.ts";

const agents = defineTable({
  name: "agent",
  columns: {
    id: column<AgentId>("uuid"),
    owner_type: column<AgentOwner["type"]>("text"),
    /** Null for an agent of the instance. */
    owner_id: "uuid null",
    name: "text",
    description: "text",
    active: "boolean",
    tags: "text[]",
    run_untagged: "boolean",
    locked: "boolean",
    protected: "boolean",
    max_timeout_seconds: "integer null",
    /** SHA-256, hex. */
    token_hash: "text",
    former_token_hash: "text null",
    created_at: "timestamptz",
  },
  key: ["id"],
  indexes: ["(owner_id, created_at, id)"],
  lateIndexes: ["(token_hash)", "(former_token_hash)", "(created_at, id)"],
});

export type AgentRow = RowOf<typeof agents>;

const registrations = defineTable({
  name: "agent_registration",
  columns: {
    id: "text",
    owner_type: column<AgentOwner["type"]>("text"),
    owner_id: "uuid null",
    generation: "integer",
    token_hash: "text",
  },
  key: ["id"],
  lateIndexes: ["(token_hash)"],
});

export type RegistrationRow = RowOf<typeof registrations>;

export const agentProjection = defineReadModel({
  name: "agent",
  version: 2,
  announces: "agents",
  tables: [agents, registrations],
  events: { ...agentEvents, ...registrationEvents, ...purgeEvents },
  effects: {
    ProjectPurged: ({ data: { projectId } }) => [
      remove(agents, { owner_id: projectId }),
      remove(registrations, { id: projectId }),
    ],
    AgentRegistered: ({ data }) =>
      put(agents, {
        id: data.agentId,
        owner_type: data.owner.type,
        owner_id: data.owner.id,
        ...columnsOf(data.settings),
        token_hash: data.tokenHash,
        former_token_hash: null,
        created_at: new Date(data.registeredAt),
      }),
    AgentReconfigured: ({ stream, data: { settings } }) => [
      change(agents, idOf(stream), columnsOf(settings)),
      announce(`agent-${idInStream(stream)}`),
    ],
    AgentTokenReset: ({ stream, data }) =>
      statement(replaceToken, [data.tokenHash, idInStream(stream)]),
    AgentTokenConfirmed: ({ stream }) => change(agents, idOf(stream), { former_token_hash: null }),
    AgentRemoved: ({ stream }) => [
      remove(agents, idOf(stream)),
      announce(`agent-${idInStream(stream)}`),
    ],
    RegistrationTokenIssued: ({ data: { owner, generation, tokenHash: token_hash } }) =>
      put(registrations, {
        ...{ id: registrationIdOf(owner), owner_type: owner.type, owner_id: owner.id },
        ...{ generation, token_hash },
      }),
  },
});

/** The token that was confirmed last stays, however many were given since. */
const replaceToken = `
  update agent set token_hash = ?, former_token_hash = coalesce(former_token_hash, token_hash)
  where id = ?`;

const idOf = (stream: string) => ({ id: idInStream(stream) as AgentId });

function columnsOf(settings: AgentSettings) {
  const { name, description, active, tags, locked, runUntagged, maxTimeoutInSec } = settings;
  return {
    ...{ name, description, active, tags, locked },
    run_untagged: runUntagged,
    protected: settings.protected,
    max_timeout_seconds: maxTimeoutInSec,
  };
}

/** Whose agents are meant; undefined: all of the instance. */
export type WhoseAgents = AgentOwner | undefined;

const ofOwner = (owner: WhoseAgents): Partial<AgentRow> =>
  owner === undefined ? {} : { owner_type: owner.type, owner_id: owner.id };

export function listAgents(db: Knex, owner: WhoseAgents, part: Part): Promise<Slice<AgentRow>> {
  return newestFirst<AgentRow>(db, { table: "agent", where: ofOwner(owner), ...part });
}

/** An agent of this very owner; another one's is not found. */
export function findAgent(db: Knex, owner: WhoseAgents, id: string): Promise<AgentRow | undefined> {
  return db<AgentRow>("agent").where(ofOwner(owner)).andWhere("id", id).first();
}

/** Those whose ids are from the first to the last one, a few at most. */
export function findAgentsBetween(
  db: Knex,
  ids: readonly [first: string, last: string],
): Promise<readonly AgentRow[]> {
  return db<AgentRow>("agent")
    .whereBetween("id", [...ids])
    .limit(10);
}

/** The agent of a token: of the newest one, or of the one before until the newest is used. */
export async function findAgentByToken(db: Knex, tokenHash: string): Promise<AgentRow | undefined> {
  return db<AgentRow>("agent")
    .where("token_hash", tokenHash)
    .orWhere("former_token_hash", tokenHash)
    .first();
}

export function findRegistration(db: Knex, id: string): Promise<RegistrationRow | undefined> {
  return db<RegistrationRow>("agent_registration").where({ id }).first();
}

export function findRegistrationByToken(
  db: Knex,
  tokenHash: string,
): Promise<RegistrationRow | undefined> {
  return db<RegistrationRow>("agent_registration").where({ token_hash: tokenHash }).first();
}
