import type {
  AnyEvent,
  EventMetadata,
  EventOf,
  EventSchemas,
  Recorded,
} from "../../events/core/event.ts";
import { deterministicId } from "../../platform/deterministic-id.ts";
import {
  type EventStore,
  type ExpectedRevision,
  RevisionConflict,
} from "../../platform/event-store/event-store.ts";
import { keyedLock } from "../../platform/keyed-lock.ts";
import { Refusal } from "../../platform/refusal.ts";
import type { Slice } from "./decider.ts";
import { foldStream } from "./fold-stream.ts";
import { commandMark, keepRead, readBefore } from "./long-stream.ts";

/** Losing a race is normal; losing this many in a row means something is spinning. */
const attemptsMax = 5;

/** By stream. */
const inTurn = keyedLock();

export type Order<Command> = Readonly<{
  /** What follows the category in the stream's name. */
  id: string;
  command: Command;
  metadata: EventMetadata;
}>;

export type CommandResult = Readonly<{
  /**
   * A reader that has passed this position sees what the answer is based on, also when the command
   * changed nothing; undefined only for a stream without events.
   */
  position: bigint | undefined;
}>;

/** The later of two positions to wait for. */
export function later(one: bigint | undefined, other: bigint | undefined): bigint | undefined {
  if (one === undefined || other === undefined) return one ?? other;
  return one > other ? one : other;
}

/**
 * Reads the stream, decides, appends. The append succeeds only without a write in between, so a
 * rule the decider checked still holds when its events land. A command whose id is already in the
 * stream was handled before, by a request whose answer got lost: it is answered again without
 * writing.
 *
 * @param loaded what the caller has just read of the stream, or knows of one that is new: saves
 *   reading it. If another command wrote meanwhile, the append is refused and the stream is read after all. If the
 *   same command did, from the same revision, the store takes the append for a repetition whatever the data of the
 *   events: a command that may decide otherwise when it is repeated needs an id of its own each time.
 * @throws Refusal from the decider; RevisionConflict after five lost races; StoreUnavailable.
 */
export async function handle<State, Command, Schemas extends EventSchemas>(
  store: EventStore,
  slice: Slice<State, Command, Schemas>,
  order: Order<Command>,
  loaded?: LoadedState<State>,
): Promise<CommandResult> {
  const { position } = await handleKnown(store, slice, order, loaded);
  return { position };
}

/** As `handle`, for those who go on with the same stream. @returns what the stream adds up to then */
export async function handleKnown<State, Command, Schemas extends EventSchemas>(
  store: EventStore,
  slice: Slice<State, Command, Schemas>,
  order: Order<Command>,
  loaded?: LoadedState<State>,
): Promise<LoadedState<State>> {
  const stream = slice.stream(order.id);
  for (let attempt = 1; ; attempt += 1) {
    const seen = attempt === 1 ? loaded : undefined;
    const attemptIt = () => attemptOnce(store, slice, order, seen);
    try {
      // Who lost a race waits for the others of this process that did, instead of racing them again.
      return await (attempt === 1 ? attemptIt() : inTurn(stream, attemptIt));
    } catch (error) {
      const lostRace = error instanceof RevisionConflict && attempt < attemptsMax;
      if (!lostRace) throw error;
    }
  }
}

async function attemptOnce<State, Command, Schemas extends EventSchemas>(
  store: EventStore,
  slice: Slice<State, Command, Schemas>,
  order: Order<Command>,
  loaded: LoadedState<State> | undefined,
): Promise<LoadedState<State>> {
  const stream = slice.stream(order.id);
  const past =
    loaded !== undefined
      ? { ...loaded, handledAt: undefined }
      : await load(store, slice, stream, order.metadata.commandId);
  if (past.handledAt !== undefined) return { ...past, position: past.handledAt };

  const decided: readonly AnyEvent[] = slice.decide(past.state, order.command);
  if (decided.length === 0) return past;
  const read = decided.map((event) => mustBeReadable(slice.events, event));

  const events = decided.map((event, index) => ({
    ...event,
    id: deterministicId(order.metadata.commandId, stream, index),
    metadata: order.metadata,
  }));
  const { position, revision } = await store.append(stream, past.revision, events);
  return { state: read.reduce(slice.evolve, past.state), revision, position };
}

/**
 * What could not be read again would stop every read model that comes to it.
 *
 * @throws Refusal 422 `event.unreadable`
 */
function mustBeReadable<Schemas extends EventSchemas>(
  schemas: Schemas,
  { type, data }: AnyEvent,
): EventOf<Schemas> {
  const read = schemas[type]?.safeParse(data);
  // The schema looked up by the type has just checked the data: that is what the cast says.
  if (read?.success === true) return { type, data: read.data } as unknown as EventOf<Schemas>;
  const where = read?.error.issues[0]?.path.join(".") ?? type;
  const text = `The change cannot be recorded: ${where} has no value that can be stored.`;
  throw new Refusal("unprocessable", "event.unreadable", text);
}

/** What the events of a stream add up to now; for processes that look before they act. */
export async function currentState<State, Command, Schemas extends EventSchemas>(
  store: EventStore,
  slice: Slice<State, Command, Schemas>,
  id: string,
): Promise<State> {
  return (await loadState(store, slice, id)).state;
}

/** The same with the place it was read at, for `handle`. */
export function loadState<State, Command, Schemas extends EventSchemas>(
  store: EventStore,
  slice: Slice<State, Command, Schemas>,
  id: string,
): Promise<LoadedState<State>> {
  return load(store, slice, slice.stream(id));
}

/** A stream as it was when it was read: what it added up to, and its last event. */
export type LoadedState<State> = Readonly<{
  state: State;
  revision: ExpectedRevision;
  position: bigint | undefined;
}>;

type Past<State> = LoadedState<State> &
  Readonly<{
    /** Where the last event of this very command stands, when it was handled before. */
    handledAt: bigint | undefined;
  }>;

async function load<State, Command, Schemas extends EventSchemas>(
  store: EventStore,
  slice: Slice<State, Command, Schemas>,
  stream: string,
  commandId?: string,
): Promise<Past<State>> {
  const { evolve } = slice;
  const before = readBefore<State>(store, stream, { evolve, commandId });
  let revision: ExpectedRevision = before?.revision ?? "none";
  let position = before?.position;
  let handledAt: bigint | undefined;
  const commands = before?.commands ?? new Set();
  const onEvent = (recorded: Recorded): void => {
    const { metadata } = recorded;
    if (metadata.commandId === commandId) handledAt = recorded.position;
    commands.add(commandMark(metadata.commandId));
    ({ revision, position } = recorded);
  };
  const state = await foldStream(store, slice, stream, { after: before, onEvent });
  if (typeof revision === "bigint" && position !== undefined) {
    keepRead(store, stream, { state, revision, position, commands, evolve });
  }
  return { state, revision, position, handledAt };
}
