import type { Knex } from "knex";

import type { Recorded } from "../../events/core/event.ts";
import type { Sealed } from "../../events/core/sealed.ts";
import { allOf } from "./all-of.ts";
import { announceChange, type Subject } from "./announce.ts";
import { applyAsOperation } from "./apply-operation.ts";
import { mayPass } from "./retry.ts";
import type { AnyTable } from "./table.ts";

export type Tx = Knex.Transaction;

/** What applying events may use beside the tables. */
export type ProjectionContext = Readonly<{
  /** Personal data in clear, or null once its subject was forgotten. */
  open: (sealed: Sealed) => Promise<string | null>;
}>;

/** A read model as it is run; see `defineReadModel`. */
export type Projection = Readonly<{
  /** Snake case; key of its checkpoint. */
  name: string;
  /** Raised when tables or effects change their meaning: the tables are then built again. */
  version: number;
  /** It reads and writes only these, and no other code writes them. */
  tables: readonly AnyTable[];
  /** Types of events it handles; others move only its checkpoint. */
  types: ReadonlySet<string>;
  /** Whether it keeps account of events of other applications as well. */
  takesForeign?: true;
  /** Applies events of these types, in the order of the log. Applied again, they change nothing. */
  apply: (tx: Tx, events: readonly Recorded[], context: ProjectionContext) => Promise<void>;
  /** What processes keep copies of and must drop whenever this projection wrote; see announceChange. */
  announces?: Subject;
}>;

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

const takes = ({ types, takesForeign }: Projection, { type, isForeign }: Recorded): boolean =>
  isForeign === true ? takesForeign === true : types.has(type);

/**
 * Applies those of the events that the projection handles and that come after a position: the one way in which events
 * become rows, live, catching up, in a rebuild and for answers of the past.
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
  const events = batch.filter((event) => event.position > position && takes(projection, event));
  const last = events.at(-1);
  if (last === undefined) return;
  const { announces } = projection;
  try {
    await allOf([
      ...(announces === undefined ? [] : [announceChange(tx, announces)]),
      applyAsOperation(projection, events, () => projection.apply(tx, events, context)),
    ]);
  } catch (error) {
    if (mayPass(error) || error instanceof CannotApply) throw error;
    throw new CannotApply(projection.name, last, error, events.length - 1);
  }
}
