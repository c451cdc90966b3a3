import { decode } from "../../events/core/decode.ts";
import type { EventMetadata, EventSchemas } from "../../events/core/event.ts";
import type { EventStore } from "../../platform/event-store/event-store.ts";
import type { Slice } from "../core/decider.ts";
import { type CommandResult, handle } from "../core/handle.ts";
import { releaseAliases, reserveAlias } from "../core/reserve-alias.ts";
import { closeHoldings, type Owns } from "../project/claim-child.ts";

export type AliasDeps = Readonly<{ store: EventStore; now: () => string }>;
type Change<Command> = Readonly<{ id: string; command: Command; metadata: EventMetadata }>;

/**
 * Changes the alias of a team or company, then frees those it had. May be repeated.
 *
 * @throws Refusal `alias.taken`, and what its decider throws
 */
export async function changeAlias<State, Command, Schemas extends EventSchemas>(
  deps: AliasDeps,
  slice: Slice<State, Command, Schemas>,
  { id, command, metadata }: Change<Command & Readonly<{ alias: string }>>,
): Promise<CommandResult> {
  const { alias } = command;
  await reserveAlias(deps, { alias, holderId: id }, metadata);
  const result = await handle(deps.store, slice, { id, command, metadata });
  const had = await aliasesOf(deps, slice, id);
  await releaseAliases(deps, { had, currentAlias: alias, holderId: id }, metadata);
  return result;
}

/**
 * Deletes a team or company that owns nothing, then frees its aliases. May be repeated.
 *
 * @throws Refusal `owner.not_empty`, and what its decider throws
 */
export async function deleteAliasHolder<State, Command, Schemas extends EventSchemas>(
  deps: AliasDeps & Readonly<{ owns: Owns }>,
  slice: Slice<State, Command, Schemas>,
  { id, command, metadata }: Change<Command>,
): Promise<CommandResult> {
  await closeHoldings(deps, id, metadata);
  const result = await handle(deps.store, slice, { id, command, metadata });
  const had = await aliasesOf(deps, slice, id);
  await releaseAliases(deps, { had, holderId: id }, metadata);
  return result;
}

/** Every alias it was ever given: the field has this name in all of its events that give one. */
async function aliasesOf<State, Command, Schemas extends EventSchemas>(
  { store }: AliasDeps,
  { events, stream }: Slice<State, Command, Schemas>,
  id: string,
): Promise<readonly string[]> {
  const aliases: string[] = [];
  for await (const recorded of store.readStream(stream(id))) {
    const { alias } = decode(events, recorded).data as Readonly<{ alias?: string }>;
    if (alias !== undefined) aliases.push(alias);
  }
  return aliases;
}
