import { decode } from "../../events/core/decode.ts";
import type { EventOf, EventSchemas, Recorded } from "../../events/core/event.ts";
import { Sealed } from "../../events/core/sealed.ts";
import { withFormerTypes } from "../../events/core/upcast.ts";
import { storableText, storableValue } from "../../platform/storable-text.ts";
import type { Subject } from "./announce.ts";
import type { Change } from "./change.ts";
import { CannotApply, type Projection } from "./projection.ts";
import { mayPass } from "./retry.ts";
import type { AnyTable } from "./table.ts";
import { write } from "./write.ts";

/** Personal data in clear, or null once its subject was forgotten. */
export type Open = (sealed: Sealed | null | undefined) => string | null;

type Effect<Event> = (event: Event, open: Open) => Change | readonly Change[];

/** What each event does to rows, by its type; a function of the event alone. */
export type Effects<Schemas extends EventSchemas> = {
  readonly [Type in keyof Schemas & string]: Effect<
    Recorded<Extract<EventOf<Schemas>, { type: Type }>>
  >;
};

export type ReadModel<Schemas extends EventSchemas> = Readonly<{
  /** Snake case; key of its checkpoint. */
  name: string;
  /** Raised when tables or effects change their meaning: the tables are then built again. */
  version: number;
  /** Its effects change these alone, and no other code does. */
  tables: readonly AnyTable[];
  /** Of one slice or several: `{ ...projectEvents, ...webhookEvents }`. */
  events: Schemas;
  /** One for every event of the schemas: an event that does nothing has `nothing`. */
  effects: Effects<Schemas>;
  /** Effects open sealed values of their events. */
  opens?: boolean;
  /** What processes keep copies of and must drop whenever rows were written; see announceChange. */
  announces?: Subject;
}>;

export const nothing = (): readonly Change[] => [];

/** A read model of which each event says what becomes of which rows. */
export function defineReadModel<Schemas extends EventSchemas>(
  model: ReadModel<Schemas>,
): Projection {
  const { name, version, tables, events, announces } = model;
  const effects: Readonly<Record<string, Effect<never>>> = model.effects;
  const handled = Object.entries(effects).filter(([, effect]) => effect !== nothing);
  const types = withFormerTypes(handled.map(([type]) => type));
  const changesOf = (recorded: Recorded, open: Open): readonly Change[] => {
    try {
      const event = decode(events, recorded);
      // The key is the event's own type, so the effect found under it takes this event.
      const effect = effects[event.type] as Effect<typeof event>;
      return [effect(event, open)].flat();
    } catch (error) {
      throw mayPass(error) ? error : new CannotApply(name, recorded, error);
    }
  };
  return {
    name,
    version,
    tables,
    types,
    ...(announces && { announces }),
    async apply(tx, batch, context) {
      const storable = batch.map(storableEvent);
      const open = model.opens ? await opened(storable, context.open) : unopened;
      await write(
        tx,
        storable.flatMap((event) => changesOf(event, open)),
      );
    },
  };
}

/** The log may hold texts that PostgreSQL does not take; none of them stops a read model. */
function storableEvent(recorded: Recorded): Recorded {
  const data = storableValue(recorded.data);
  return data === recorded.data ? recorded : { ...recorded, data };
}

const unopened: Open = () => {
  throw new Error("A read model that opens sealed values says so by `opens`");
};

/** Opens all sealed values of a batch at once: one by one, each would wait for the key of its own subject. */
async function opened(
  events: readonly Recorded[],
  open: (sealed: Sealed) => Promise<string | null>,
): Promise<Open> {
  const texts = [...new Set(events.flatMap(({ data }) => [...sealedIn(data)]))];
  const clear = new Map(
    await Promise.all(
      texts.map(async (text) => {
        const clearText = await open(text);
        return [text, clearText === null ? null : storableText(clearText)] as const;
      }),
    ),
  );
  return (sealed) => (sealed ? (clear.get(sealed) ?? null) : null);
}

function* sealedIn(value: unknown): Generator<Sealed> {
  if (typeof value === "string") {
    const { data } = Sealed.safeParse(value);
    if (data !== undefined) yield data;
  } else if (value !== null && typeof value === "object") {
    for (const part of Object.values(value)) yield* sealedIn(part);
  }
}
