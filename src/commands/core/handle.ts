import { decode } from "../../events/core/decode.ts";
import type { AnyEvent, EventMetadata, EventSchemas } from "../../events/core/event.ts";
import { deterministicId } from "../../platform/deterministic-id.ts";
import {
  type EventStore,
  type ExpectedRevision,
  RevisionConflict,
} from "../../platform/event-store/event-store.ts";
import { keyedLock } from "../../platform/keyed-lock.ts";
import { Refusal } from "../../platform/refusal.ts";
import type { Slice } from "./decider.ts";

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

/**
 * Reads the stream, decides, appends. The append succeeds only if nobody wrote in between, so a
 * rule the decider checked still holds when its events land. A command whose id is already in the
 * stream was handled before, by a request whose answer got lost: it is answered again without
 * writing.
 *
 * @param known what the caller has just read of the stream, or knows of one that is new: saves
 *   reading it. If it was wrong, the append is refused and the stream is read after all.
 * @throws Refusal from the decider; RevisionConflict after five lost races; StoreUnavailable.
 */
export async function handle<State, Command, Schemas extends EventSchemas>(
  store: EventStore,
  slice: Slice<State, Command, Schemas>,
  order: Order<Command>,
  known?: Known<State>,
): Promise<CommandResult> {
  const stream = slice.stream(order.id);
  for (let attempt = 1; ; attempt += 1) {
    const seen = attempt === 1 ? known : undefined;
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
  known: Known<State> | undefined,
): Promise<CommandResult> {
  const stream = slice.stream(order.id);
  const past =
    known !== undefined
      ? { ...known, handledAt: undefined }
      : await load(store, slice, stream, order.metadata.commandId);
  if (past.handledAt !== undefined) return { position: past.handledAt };

  const decided: readonly AnyEvent[] = slice.decider.decide(past.state, order.command);
  if (decided.length === 0) return { position: past.position };
  for (const event of decided) mustBeReadable(slice.events, event);

  const events = decided.map((event, index) => ({
    ...event,
    id: deterministicId(order.metadata.commandId, stream, index),
    metadata: order.metadata,
  }));
  return { position: (await store.append(stream, past.revision, events)).position };
}

/**
 * What could not be read again would stop every read model that comes to it.
 *
 * @throws Refusal 422 `event.unreadable`
 */
function mustBeReadable(schemas: EventSchemas, { type, data }: AnyEvent): void {
  const read = schemas[type]?.safeParse(data);
  if (read?.success === true) return;
  const where = read?.error.issues[0]?.path.join(".") ?? type;
  const text = `The change cannot be recorded: ${where} has no value that can be stored.`;
  throw new Refusal("unprocessable", "event.unreadable", text);
}

/** What the events of a stream add up to now; for processes that look before they act. */
export async function currentState<State, Command, Schemas extends EventSchemas>(
  store: EventStore,
  { events: schemas, stream, decider }: Slice<State, Command, Schemas>,
  id: string,
): Promise<State> {
  let state = decider.initialState;
  for await (const recorded of store.readStream(stream(id))) {
    state = decider.evolve(state, decode(schemas, recorded));
  }
  return state;
}

/** A stream as it was when it was read: what it added up to, and its last event. */
export type Known<State> = Readonly<{
  state: State;
  revision: ExpectedRevision;
  position: bigint | undefined;
}>;

type Past<State> = Known<State> &
  Readonly<{
    /** Where the last event of this very command stands, when it was handled before. */
    handledAt: bigint | undefined;
  }>;

async function load<State, Command, Schemas extends EventSchemas>(
  store: EventStore,
  { events: schemas, decider }: Slice<State, Command, Schemas>,
  stream: string,
  commandId: string,
): Promise<Past<State>> {
  let state = decider.initialState;
  let revision: ExpectedRevision = "none";
  let position: bigint | undefined;
  let handledAt: bigint | undefined;
  for await (const recorded of store.readStream(stream)) {
    if (recorded.metadata.commandId === commandId) handledAt = recorded.position;
    state = decider.evolve(state, decode(schemas, recorded));
    ({ revision, position } = recorded);
  }
  return { state, revision, position, handledAt };
}
