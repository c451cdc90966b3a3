import type { Knex } from "knex";
import { decode } from "../../events/core/decode.ts";
import type { AnyEvent, EventOf, EventSchemas, Recorded } from "../../events/core/event.ts";
import type { Sealed } from "../../events/core/sealed.ts";
import { withFormerTypes } from "../../events/core/upcast.ts";
import { invariant } from "../../platform/invariant.ts";
import type { Statement } from "../../platform/postgres/together.ts";
import { storableText, storableValue } from "../../platform/storable-text.ts";
import { announceChange, type Subject } from "./announce.ts";
import { asEventsOf } from "./apply-operation.ts";
import {
  type CheckpointState,
  type FeedName,
  lockCheckpoints,
  moveCheckpoint,
} from "./checkpoint.ts";
import { mayPass } from "./retry.ts";

export type Tx = Knex.Transaction;

/** What a handler may use beside its own tables. */
export type ProjectionContext = Readonly<{
  /** Personal data in clear, or null once its subject was forgotten. */
  open: (sealed: Sealed) => Promise<string | null>;
  /** Set where tables are built from the first event on: they hold nothing of the events yet, and `index` comes after. */
  isBuild?: boolean;
}>;

export type Projection = Readonly<{
  /** Snake case; key of its checkpoint. */
  name: string;
  /** Raised when tables or handlers change their meaning: the tables are then built again. */
  version: number;
  /** Handlers of this read model read and write only these, and no other code writes them. */
  tables: readonly string[];
  /** Makes the tables and their indexes; names are unqualified, the search path decides where. */
  create: (tx: Tx) => Promise<void>;
  /** Makes indexes that no handler needs in a build: a rebuild makes them after the rows, which takes less time. */
  index?: (tx: Tx) => Promise<void>;
  /** Make further indexes, after `index`: a rebuild makes those of a large table side by side. */
  indexes?: readonly ((tx: Tx) => Promise<void>)[];
  /** Types of events it handles; others move only its checkpoint. */
  types: ReadonlySet<string>;
  apply: (tx: Tx, recorded: Recorded, context: ProjectionContext) => Promise<void>;
  /** Applies many in one go, where a statement for each would be slow; in order, none seen before. */
  applyAll?: (tx: Tx, events: readonly Recorded[], context: ProjectionContext) => Promise<void>;
  /**
   * Statements that do what `apply` does of events, in order and none seen before. Undefined when these depend on
   * what is stored; it may throw as well then.
   */
  statements?: (
    db: Knex,
    events: readonly Recorded[],
    context: ProjectionContext,
  ) => Promise<readonly Statement[] | undefined>;
  /** `answers` unless given; see FeedName. */
  feed?: FeedName;
  /** What processes keep copies of and must drop whenever this projection wrote; see announceChange. */
  announces?: Subject;
}>;

/** Which feed moves it while it is live. */
export const feedOf = ({ feed = "answers" }: Projection): FeedName => feed;

type Handler<Event extends AnyEvent> = (
  tx: Tx,
  event: Recorded<Event>,
  context: ProjectionContext,
) => Promise<void>;

export type Handlers<Schemas extends EventSchemas> = {
  readonly [Type in keyof Schemas & string]: Handler<Extract<EventOf<Schemas>, { type: Type }>>;
};

export type ProjectionDefinition<Schemas extends EventSchemas> = Readonly<{
  name: string;
  version: number;
  tables: readonly string[];
  create: (tx: Tx) => Promise<void>;
  /** See `Projection`. */
  index?: (tx: Tx) => Promise<void>;
  /** Of one slice or several: `{ ...projectEvents, ...webhookEvents }`. */
  events: Schemas;
  /** One for every event of the schemas: ignoring one is written down, as `ignore`. */
  handlers: Handlers<Schemas>;
  /** In the place of the handlers where many events come at once; it must end the same. */
  applyAll?: (
    tx: Tx,
    events: readonly Recorded<EventOf<Schemas>>[],
    context: ProjectionContext,
  ) => Promise<void>;
  /** See `Projection`. */
  statements?: (
    db: Knex,
    events: readonly Recorded<EventOf<Schemas>>[],
    context: ProjectionContext,
  ) => Promise<readonly Statement[] | undefined>;
  announces?: Subject;
}>;

export function defineProjection<Schemas extends EventSchemas>(
  definition: ProjectionDefinition<Schemas>,
): Projection {
  const { name, version, tables, create, index } = definition;
  const { events, handlers, applyAll, statements, announces } = definition;
  const handled = Object.entries(handlers).filter(([, handler]) => handler !== ignore);
  const types = withFormerTypes(handled.map(([type]) => type));
  // Requests for the past give the same events again; decoding is most of what applying many takes.
  const decoded = new WeakMap<Recorded, Recorded<EventOf<Schemas>>>();
  const decodedOf = (recorded: Recorded): Recorded<EventOf<Schemas>> => {
    const known = decoded.get(recorded);
    if (known !== undefined) return known;
    try {
      const fresh = decode(events, storableEvent(recorded));
      decoded.set(recorded, fresh);
      return fresh;
    } catch (error) {
      throw new CannotApply(name, recorded, error);
    }
  };
  return {
    name,
    version,
    tables,
    create,
    types,
    ...(index && { index }),
    ...(announces && { announces }),
    async apply(tx, recorded, context) {
      if (!types.has(recorded.type)) return;
      const event = decode(events, storableEvent(recorded));
      // The key is the event's own type, so the handler found under it takes this event.
      const handler = handlers[event.type] as Handler<EventOf<Schemas>>;
      await handler(tx, event, storableContext(context));
    },
    ...(applyAll && {
      applyAll: async (tx: Tx, batch: readonly Recorded[], context: ProjectionContext) =>
        applyAll(tx, batch.map(decodedOf), storableContext(context)),
    }),
    ...(statements && {
      statements: async (db: Knex, batch: readonly Recorded[], context: ProjectionContext) =>
        statements(db, batch.map(decodedOf), storableContext(context)),
    }),
  };
}

/** The log may hold texts that PostgreSQL does not take; none of them stops a read model. */
export function storableEvent(recorded: Recorded): Recorded {
  const data = storableValue(recorded.data);
  return data === recorded.data ? recorded : { ...recorded, data };
}

export function storableContext(context: ProjectionContext): ProjectionContext {
  return {
    ...context,
    async open(sealed) {
      const text = await context.open(sealed);
      return text === null ? null : storableText(text);
    },
  };
}

export const ignore = (): Promise<void> => Promise.resolve();

/**
 * Applies a batch and moves the checkpoint in one transaction: after a crash, either both happened
 * or neither did. The row lock keeps two processes from running one projection at a time; events at
 * or below the checkpoint were applied before and are skipped, so delivery may repeat and overlap.
 *
 * @param only nothing is done when the checkpoint is not in this state any more
 */
export async function project(
  db: Knex,
  projection: Projection,
  batch: readonly Recorded[],
  context: ProjectionContext,
  only?: CheckpointState,
): Promise<void> {
  const last = batch.at(-1);
  if (last === undefined) return;
  await db.transaction(async (tx) => {
    const checkpoints = await lockCheckpoints(tx, [projection.name]);
    const checkpoint = checkpoints.get(projection.name);
    invariant(checkpoint !== undefined, `projection ${projection.name} was installed`);
    const { position, state } = checkpoint;
    if (only !== undefined && state !== only) return;
    invariant(position !== null, `projection ${projection.name} has a position of its own`);
    await applyAfter(tx, projection, position, batch, context);
    await moveCheckpoint(tx, projection.name, last.position);
  });
}

/** An event that a projection cannot take: its history or its code is wrong, and waiting is no help. */
export class CannotApply extends Error {
  override readonly name = "CannotApply";

  constructor(
    readonly projection: string,
    readonly event: Recorded,
    cause: unknown,
    /** How many events before it were written with it, each of which may be the one. */
    before = 0,
  ) {
    const why = cause instanceof Error ? cause.message : String(cause);
    const others = before > 0 ? ` or one of ${before} before it` : "";
    const what = `${event.type} at ${event.position} in ${event.stream}${others}`;
    super(`Projection ${projection} cannot apply ${what}: ${why}`, { cause });
  }
}

/**
 * Applies what the projection handles and has not seen; the caller holds its checkpoint's lock.
 *
 * @throws CannotApply, or what a store that cannot be reached now throws
 */
export async function applyAfter(
  tx: Tx,
  projection: Projection,
  position: bigint,
  batch: readonly Recorded[],
  context: ProjectionContext,
): Promise<void> {
  const events = batch.filter(
    (event) => event.position > position && projection.types.has(event.type),
  );
  const last = events.at(-1);
  if (last === undefined) return;
  if (projection.announces !== undefined) await announceChange(tx, projection.announces);
  if (projection.applyAll !== undefined) {
    try {
      const { applyAll } = projection;
      await asEventsOf(projection, events, () => applyAll(tx, events, context));
    } catch (error) {
      if (mayPass(error) || error instanceof CannotApply) throw error;
      throw new CannotApply(projection.name, last, error, events.length - 1);
    }
    return;
  }
  for (const event of events) {
    try {
      await asEventsOf(projection, [event], () => projection.apply(tx, event, context));
    } catch (error) {
      throw mayPass(error) ? error : new CannotApply(projection.name, event, error);
    }
  }
}
