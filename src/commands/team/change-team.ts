import { decode } from "../../events/core/decode.ts";
import type { EventMetadata } from "../../events/core/event.ts";
import { teamEvents, teamStream } from "../../events/team/team.ts";
import type { EventStore } from "../../platform/event-store/event-store.ts";
import { type CommandResult, handle } from "../core/handle.ts";
import { releaseAliases, reserveAlias } from "../core/reserve-alias.ts";
import { closeHoldings, hold, type Owns } from "../project/claim-child.ts";
import { type TeamCommand, team } from "./team.ts";

export type TeamDeps = Readonly<{ store: EventStore; now: () => string }>;
type Command<Type extends TeamCommand["type"]> = Extract<TeamCommand, { type: Type }>;

/**
 * Reserves the alias, then creates the team. May be repeated with the same team and command id.
 *
 * @throws Refusal `alias.taken`.
 */
export async function createTeam(
  deps: TeamDeps,
  command: Command<"CreateTeam">,
  metadata: EventMetadata,
): Promise<CommandResult> {
  const { teamId, alias } = command;
  await reserveAlias(deps, { alias, holderId: teamId }, metadata);
  await hold(deps, command, { heldId: teamId, heldType: "TEAM" }, metadata);
  return handle(deps.store, team, { id: teamId, command, metadata });
}

/** @throws Refusal `alias.taken`, `team.not_found`. */
export async function changeTeamAlias(
  deps: TeamDeps,
  teamId: string,
  command: Command<"ChangeTeamAlias">,
  metadata: EventMetadata,
): Promise<CommandResult> {
  await reserveAlias(deps, { alias: command.alias, holderId: teamId }, metadata);
  const result = await handle(deps.store, team, { id: teamId, command, metadata });
  const had = await aliasesOf(deps, teamId);
  await releaseAliases(deps, { had, kept: command.alias, holderId: teamId }, metadata);
  return result;
}

/** @throws Refusal `team.not_found`, `owner.not_found`. */
export async function transferTeam(
  deps: TeamDeps,
  teamId: string,
  command: Command<"TransferTeam">,
  metadata: EventMetadata,
): Promise<CommandResult> {
  await hold(deps, command, { heldId: teamId, heldType: "TEAM" }, metadata);
  return handle(deps.store, team, { id: teamId, command, metadata });
}

/** @throws Refusal `team.not_found`, `owner.not_empty`. */
export async function deleteTeam(
  deps: TeamDeps & Readonly<{ owns: Owns }>,
  teamId: string,
  command: Command<"DeleteTeam">,
  metadata: EventMetadata,
): Promise<CommandResult> {
  await closeHoldings(deps, teamId, metadata);
  const result = await handle(deps.store, team, { id: teamId, command, metadata });
  const had = await aliasesOf(deps, teamId);
  await releaseAliases(deps, { had, holderId: teamId }, metadata);
  return result;
}

async function aliasesOf({ store }: TeamDeps, teamId: string): Promise<readonly string[]> {
  const aliases: string[] = [];
  for await (const recorded of store.readStream(teamStream(teamId))) {
    const event = decode(teamEvents, recorded);
    if (event.type === "TeamCreated" || event.type === "TeamAliasChanged") {
      aliases.push(event.data.alias);
    }
  }
  return aliases;
}
