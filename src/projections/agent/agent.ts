import type { Knex } from "knex";

import {
  type AgentId,
  type AgentOwner,
  type AgentSettings,
  agentEvents,
} from "../../events/agent/agent.ts";
import { registrationEvents, registrationIdOf } from "../../events/agent/registration.ts";
import { idInStream } from "../../events/core/stream.ts";
import { announceChange } from "../core/announce.ts";
import { newestFirst, type Part } from "../core/list-rows.ts";
import { defineProjection, type Tx } from "../core/projection.ts";
import { purgeEvents } from "../core/purge.ts";
import type { Slice } from "../user/user.ts";

export type AgentRow = Readonly<{
  id: AgentId;
  owner_type: AgentOwner["type"];
  /** Null for an agent of the instance. */
  owner_id: string | null;
  name: string;
  description: string;
  active: boolean;
  tags: readonly string[];
  run_untagged: boolean;
  locked: boolean;
  protected: boolean;
  max_timeout_seconds: number | null;
  /** SHA-256, hex. */
  token_hash: string;
  former_token_hash: string | null;
  created_at: Date;
}>;

export type RegistrationRow = Readonly<{
  id: string;
  owner_type: AgentOwner["type"];
  owner_id: string | null;
  generation: number;
  token_hash: string;
}>;

export const agentProjection = defineProjection({
  name: "agent",
  version: 1,
  announces: "agents",
  tables: ["agent", "agent_registration"],
  async create(tx) {
    await tx.schema.createTable("agent", (table) => {
      table.uuid("id").primary();
      table.text("owner_type").notNullable();
      table.uuid("owner_id");
      table.text("name").notNullable();
      table.text("description").notNullable();
      table.boolean("active").notNullable();
      table.specificType("tags", "text[]").notNullable();
      table.boolean("run_untagged").notNullable();
      table.boolean("locked").notNullable();
      table.boolean("protected").notNullable();
      table.integer("max_timeout_seconds");
      table.text("token_hash").notNullable().index();
      table.text("former_token_hash").index();
      table.timestamp("created_at").notNullable();
      table.index(["owner_id", "created_at", "id"]);
      table.index(["created_at", "id"]);
    });
    await tx.schema.createTable("agent_registration", (table) => {
      table.text("id").primary();
      table.text("owner_type").notNullable();
      table.uuid("owner_id");
      table.integer("generation").notNullable();
      table.text("token_hash").notNullable().index();
    });
  },
  events: { ...agentEvents, ...registrationEvents, ...purgeEvents },
  handlers: {
    ProjectPurged: async (tx, { data }) => {
      await tx("agent").where({ owner_id: data.projectId }).delete();
      await tx("agent_registration").where({ id: data.projectId }).delete();
    },
    AgentRegistered: async (tx, { data }) => {
      const row = {
        id: data.agentId,
        owner_type: data.owner.type,
        owner_id: data.owner.id,
        ...columnsOf(data.settings),
        token_hash: data.tokenHash,
        former_token_hash: null,
        created_at: new Date(data.registeredAt),
      };
      await tx("agent").insert(row).onConflict("id").merge();
    },
    AgentReconfigured: async (tx, { stream, data }) => {
      await update(tx, stream, columnsOf(data.settings));
      await announceChange(tx, `agent-${idInStream(stream)}`);
    },
    AgentTokenReset: (tx, { stream, data }) =>
      update(tx, stream, {
        token_hash: data.tokenHash,
        former_token_hash: tx.raw("coalesce(former_token_hash, token_hash)"),
      }),
    AgentTokenConfirmed: (tx, { stream }) => update(tx, stream, { former_token_hash: null }),
    AgentRemoved: async (tx, { stream }) => {
      await tx("agent").where("id", idInStream(stream)).delete();
      await announceChange(tx, `agent-${idInStream(stream)}`);
    },
    RegistrationTokenIssued: async (tx, { data }) => {
      const { owner, generation, tokenHash: token_hash } = data;
      const of = { id: registrationIdOf(owner), owner_type: owner.type, owner_id: owner.id };
      const row = { ...of, generation, token_hash };
      await tx("agent_registration").insert(row).onConflict("id").merge();
    },
  },
});

function columnsOf(settings: AgentSettings) {
  const { name, description, active, tags, locked, runUntagged, maxTimeoutInSec } = settings;
  return {
    ...{ name, description, active, tags, locked },
    run_untagged: runUntagged,
    protected: settings.protected,
    max_timeout_seconds: maxTimeoutInSec,
  };
}

async function update(tx: Tx, stream: string, change: Record<string, unknown>): Promise<void> {
  await tx("agent").where("id", idInStream(stream)).update(change);
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
