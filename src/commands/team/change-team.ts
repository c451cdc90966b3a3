import type { EventMetadata } from "../../events/core/event.ts";
import { type CommandResult, handle } from "../core/handle.ts";
import { reserveAlias } from "../core/reserve-alias.ts";
import { hold } from "../project/claim-child.ts";
import type { AliasDeps } from "./alias-holder.ts";
import { type TeamCommand, team } from "./team.ts";

type Command<Type extends TeamCommand["type"]> = Extract<TeamCommand, { type: Type }>;

/**
 * Reserves the alias, then creates the team. May be repeated with the same team and command id.
 *
 * @throws Refusal `alias.taken`.
 */
export async function createTeam(
  deps: AliasDeps,
  command: Command<"CreateTeam">,
  metadata: EventMetadata,
): Promise<CommandResult> {
  const { teamId, alias } = command;
  await reserveAlias(deps, { alias, holderId: teamId }, metadata);
  await hold(deps, command, { heldId: teamId, heldType: "TEAM" }, metadata);
  return handle(deps.store, team, { id: teamId, command, metadata });
}

/** @throws Refusal `team.not_found`, `owner.not_found`. */
export async function transferTeam(
  deps: AliasDeps,
  teamId: string,
  command: Command<"TransferTeam">,
  metadata: EventMetadata,
): Promise<CommandResult> {
  await hold(deps, command, { heldId: teamId, heldType: "TEAM" }, metadata);
  return handle(deps.store, team, { id: teamId, command, metadata });
}
