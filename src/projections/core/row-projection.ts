import type { Knex } from "knex";
import type { EventOf, EventSchemas, Recorded } from "../../events/core/event.ts";
import type { Sealed } from "../../events/core/sealed.ts";
import {
  CannotApply,
  defineProjection,
  ignore,
  type Projection,
  type ProjectionContext,
  type ProjectionDefinition,
  type Tx,
} from "./projection.ts";
import { mayPass } from "./retry.ts";
import { Writes } from "./writes.ts";

type Handler<Event> = (
  rows: Writes,
  event: Event,
  context: ProjectionContext,
) => void | Promise<void>;

type RowHandlers<Schemas extends EventSchemas> = {
  readonly [Type in keyof Schemas & string]:
    | Handler<Recorded<Extract<EventOf<Schemas>, { type: Type }>>>
    | typeof ignore;
};

type RowProjectionDefinition<Schemas extends EventSchemas> = Omit<
  ProjectionDefinition<Schemas>,
  "handlers" | "applyAll" | "statements"
> &
  Readonly<{
    /** Each says what becomes of which rows; they are written together for a batch of events. */
    handlers: RowHandlers<Schemas>;
    /** What the handler of the event opens, so that all of a batch is opened at once. */
    sealed?: (event: Recorded<EventOf<Schemas>>) => readonly (Sealed | null | undefined)[];
  }>;

/** A projection whose handlers write rows by their keys: events become sets of rows. */
export function defineRowProjection<Schemas extends EventSchemas>(
  definition: RowProjectionDefinition<Schemas>,
): Projection {
  type Event = Recorded<EventOf<Schemas>>;
  const { handlers, sealed = () => [], ...rest } = definition;
  const collect = async (
    rows: Writes,
    events: readonly Event[],
    context: ProjectionContext,
  ): Promise<void> => {
    const opened = await openedBefore(context, events.flatMap(sealed));
    for (const event of events) {
      // The key is the event's own type, so the handler found under it takes this event.
      const handler = handlers[event.type] as Handler<Event>;
      if ((handler as unknown) === ignore) continue;
      try {
        await handler(rows, event, opened);
      } catch (error) {
        throw mayPass(error) ? error : new CannotApply(definition.name, event, error);
      }
    }
  };
  const applyAll = async (
    tx: Tx,
    events: readonly Event[],
    context: ProjectionContext,
  ): Promise<void> => {
    const rows = new Writes(tx);
    await collect(rows, events, context);
    await rows.written();
  };
  const statements = async (db: Knex, events: readonly Event[], context: ProjectionContext) => {
    const rows = new Writes(db);
    await collect(rows, events, context);
    return rows.statements();
  };
  const one = (tx: Tx, event: Event, context: ProjectionContext) => applyAll(tx, [event], context);
  const each = Object.entries(handlers).map(([type, handler]) => [
    type,
    handler === ignore ? ignore : one,
  ]);
  return defineProjection({ ...rest, handlers: Object.fromEntries(each), applyAll, statements });
}

/** Decrypts all at once: one by one, each would wait for the key of its own subject. */
async function openedBefore(
  { open }: ProjectionContext,
  all: readonly (Sealed | null | undefined)[],
): Promise<ProjectionContext> {
  const texts = [...new Set(all)].filter((text) => text !== null && text !== undefined);
  if (texts.length === 0) return { open };
  const opened = new Map<Sealed, string | null>();
  await Promise.all(texts.map(async (text) => opened.set(text, await open(text))));
  return { open: async (text) => opened.get(text) ?? (opened.has(text) ? null : open(text)) };
}
