import { decode } from "../../events/core/decode.ts";
import type { EventMetadata, EventSchemas, Recorded } from "../../events/core/event.ts";
import {
  type HeldType,
  type HoldingEvent,
  holdingEvents,
  holdingStream,
} from "../../events/project/child-claim.ts";
import type { OwnerType } from "../../events/project/project.ts";
import type { EventStore } from "../../platform/event-store/event-store.ts";
import type { Slice } from "../core/decider.ts";
import { foldStream } from "../core/fold-stream.ts";
import { currentState, handle, type LoadedState } from "../core/handle.ts";
import { stepOf } from "../core/step.ts";
import { company } from "../team/company.ts";
import { team } from "../team/team.ts";
import { type HoldingState, holding, notEmpty } from "./child-claim.ts";
import { project } from "./project.ts";

/** So long after, a process that was to go on did not live to do it. */
const abandonedAfterMs = 60_000;

type Deps = Readonly<{ store: EventStore; now: () => string }>;

/** Whether something belongs to a team or company, as of everything that has happened by now. */
export type Owns = (ownerId: string) => Promise<boolean>;
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
  let loaded = await loadNewest(deps.store, ownerId);
  if (isAbandoned(loaded.state.closedAt, deps) && (await isThere(deps.store, ownerId, ownerType))) {
    const command = { type: "ReopenHoldings", ownerId, at: deps.now() } as const;
    await handle(deps.store, holding, {
      id: ownerId,
      command,
      metadata: stepOf(metadata, "reopen"),
    });
    loaded = await loadNewest(deps.store, ownerId);
  }
  const byCommandId = metadata.commandId;
  const command = { type: "AddHolding", ownerId, ...wanted, byCommandId, at: deps.now() } as const;
  const own = stepOf(metadata, `hold ${ownerId} ${wanted.heldId}`);
  await handle(deps.store, holding, { id: ownerId, command, metadata: own }, loaded);
}

/**
 * Closes a team or company that is empty: from then on nothing comes in. Nothing has to be looked up of
 * what came in long ago: it shows in what is owned, or never came. Only what was announced within the
 * last minute may still be under way.
 *
 * @throws Refusal `owner.not_empty`
 */
export async function closeHoldings(
  deps: Deps & Readonly<{ owns: Owns }>,
  ownerId: string,
  metadata: EventMetadata,
): Promise<void> {
  const { loaded, recent } = await lately(deps, ownerId);
  for (const held of recent) if (await isHeld(deps, ownerId, held)) throw notEmpty();
  if (await deps.owns(ownerId)) throw notEmpty();
  const { lastId } = loaded.state;
  const command = { type: "CloseHoldings", ownerId, lastId, at: deps.now() } as const;
  const own = stepOf(metadata, "close");
  await handle(deps.store, holding, { id: ownerId, command, metadata: own }, loaded);
}

/** Of the whole stream, only what decides about something new: it may be long. */
async function loadNewest(store: EventStore, ownerId: string): Promise<LoadedState<HoldingState>> {
  const { initialState, evolve } = holding;
  for await (const recorded of store.readStreamBackwards(holdingStream(ownerId), 1)) {
    const state = evolve(initialState, decode(holdingEvents, recorded));
    return { state, revision: recorded.revision, position: recorded.position };
  }
  return { state: initialState, revision: "none", position: undefined };
}

type Held = Extract<HoldingEvent, { type: "HoldingAdded" }>["data"];
type Lately = Readonly<{ loaded: LoadedState<HoldingState>; recent: readonly Held[] }>;

/** The stream as it stands, and of what came in what may still be under way; newest first. */
async function lately(deps: Deps, ownerId: string): Promise<Lately> {
  const { initialState, evolve } = holding;
  let loaded: LoadedState<HoldingState> | undefined;
  const recent: Held[] = [];
  for await (const recorded of deps.store.readStreamBackwards(holdingStream(ownerId))) {
    const event = decode(holdingEvents, recorded);
    const { revision, position } = recorded;
    loaded ??= { state: evolve(initialState, event), revision, position };
    if (event.type !== "HoldingAdded") continue;
    // An end that was taken back says nothing of what came in last.
    if (loaded.state.lastId === null) {
      loaded = { ...loaded, state: { ...loaded.state, lastId: event.data.byCommandId } };
    }
    if (isAbandoned(event.data.addedAt, deps)) break;
    recent.push(event.data);
  }
  return {
    loaded: loaded ?? { state: initialState, revision: "none", position: undefined },
    recent,
  };
}

async function isHeld(
  deps: Deps,
  ownerId: string,
  { heldId, heldType, byCommandId }: Held,
): Promise<boolean> {
  const { state, came } = await (heldType === "PROJECT"
    ? history(deps.store, project, heldId, byCommandId)
    : history(deps.store, team, heldId, byCommandId));
  if (!came) return true;
  const there = state.status === "created" || state.status === "active";
  return there && state.ownerId === ownerId;
}

/** What it is now, and whether the command that was to bring it in did. */
async function history<State, Command, Schemas extends EventSchemas>(
  store: EventStore,
  slice: Slice<State, Command, Schemas>,
  id: string,
  commandId: string,
): Promise<Readonly<{ state: State; came: boolean }>> {
  let came = false;
  const onEvent = ({ metadata }: Recorded): void => {
    came ||= metadata.commandId === commandId;
  };
  const state = await foldStream(store, slice, slice.stream(id), { onEvent });
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
