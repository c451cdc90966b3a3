import { decode } from "../../events/decode.ts";
import type { EventMetadata, EventSchemas } from "../../events/event.ts";
import { type HeldType, holdingEvents, holdingStream } from "../../events/holding.ts";
import type { OwnerType } from "../../events/project.ts";
import { deterministicId } from "../../platform/deterministic-id.ts";
import type { EventStore } from "../../platform/event-store.ts";
import { company } from "../company.ts";
import type { Slice } from "../decider.ts";
import { currentState, handle, type Known } from "../handle.ts";
import { type Held, type HoldingState, holding } from "../holding.ts";
import { project } from "../project.ts";
import { team } from "../team.ts";

/** So long after, a process that was to go on did not live to do it. */
const abandonedAfterMs = 60_000;

type Deps = Readonly<{ store: EventStore; now: () => string }>;
type Owner = Readonly<{ ownerId: string; ownerType: OwnerType }>;
type Wanted = Readonly<{ heldId: string; heldType: HeldType }>;

/**
 * Says that something is about to come into a team or company, which then cannot be deleted at the same
 * moment. A user is never deleted. May be repeated; what comes of it in the end is looked up later.
 *
 * @throws Refusal `owner.not_found` when it was deleted just now
 */
export async function hold(
  deps: Deps,
  { ownerId, ownerType }: Owner,
  wanted: Wanted,
  metadata: EventMetadata,
): Promise<void> {
  if (ownerType === "USER") return;
  let known = await lastKnown(deps.store, ownerId);
  if (isAbandoned(known.state.closedAt, deps) && (await isThere(deps.store, ownerId, ownerType))) {
    const command = { type: "ReopenHoldings", ownerId, at: deps.now() } as const;
    await handle(deps.store, holding, { id: ownerId, command, metadata: step(metadata, "reopen") });
    known = await lastKnown(deps.store, ownerId);
  }
  const byCommandId = metadata.commandId;
  const command = { type: "AddHolding", ownerId, ...wanted, byCommandId, at: deps.now() } as const;
  const own = step(metadata, `hold ${ownerId} ${wanted.heldId}`);
  await handle(deps.store, holding, { id: ownerId, command, metadata: own }, known);
}

/**
 * Closes a team or company that is empty: from then on nothing comes in. Whatever came in at some time
 * is looked up, because what the stream tells of may have gone, or never have come.
 *
 * @throws Refusal `owner.not_empty`
 */
export async function closeHoldings(
  deps: Deps,
  ownerId: string,
  metadata: EventMetadata,
): Promise<void> {
  const { held } = await currentState(deps.store, holding, ownerId);
  const gone = new Set<string>();
  for (const [id, what] of held) if (!(await isHeld(deps, ownerId, id, what))) gone.add(id);
  const command = { type: "CloseHoldings", ownerId, gone, at: deps.now() } as const;
  await handle(deps.store, holding, { id: ownerId, command, metadata: step(metadata, "close") });
}

/** Of the whole stream, only what decides about something new: it may be long. */
async function lastKnown(store: EventStore, ownerId: string): Promise<Known<HoldingState>> {
  const { initialState, evolve } = holding.decider;
  for await (const recorded of store.readStreamBackwards(holdingStream(ownerId), 1)) {
    const state = evolve(initialState, decode(holdingEvents, recorded));
    return { state, revision: recorded.revision, position: recorded.position };
  }
  return { state: initialState, revision: "none", position: undefined };
}

async function isHeld(
  deps: Deps,
  ownerId: string,
  id: string,
  { heldType, byCommandId, addedAt }: Held,
): Promise<boolean> {
  const { state, came } = await (heldType === "PROJECT"
    ? history(deps.store, project, id, byCommandId)
    : history(deps.store, team, id, byCommandId));
  if (!came && !isAbandoned(addedAt, deps)) return true;
  const there = state.status === "created" || state.status === "active";
  return there && state.ownerId === ownerId;
}

/** What it is now, and whether the command that was to bring it in did. */
async function history<State, Command, Schemas extends EventSchemas>(
  store: EventStore,
  { events, stream, decider }: Slice<State, Command, Schemas>,
  id: string,
  commandId: string,
): Promise<Readonly<{ state: State; came: boolean }>> {
  let state = decider.initialState;
  let came = false;
  for await (const recorded of store.readStream(stream(id))) {
    state = decider.evolve(state, decode(events, recorded));
    came ||= recorded.metadata.commandId === commandId;
  }
  return { state, came };
}

const isAbandoned = (time: string | null, { now }: Pick<Deps, "now">): boolean =>
  time !== null && Date.parse(now()) - Date.parse(time) > abandonedAfterMs;

async function isThere(store: EventStore, id: string, type: OwnerType): Promise<boolean> {
  const state = await (type === "TEAM"
    ? currentState(store, team, id)
    : currentState(store, company, id));
  return state.status === "active";
}

const step = (metadata: EventMetadata, name: string): EventMetadata => ({
  ...metadata,
  commandId: deterministicId(metadata.commandId, name),
});
