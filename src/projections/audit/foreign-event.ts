import type { Knex } from "knex";

import type { Recorded } from "../../events/core/event.ts";
import { put } from "../core/change.ts";
import { everyType } from "../core/every-type.ts";
import type { Projection } from "../core/projection.ts";
import { column, defineTable, type RowOf } from "../core/table.ts";
import { write } from "../core/write.ts";
import { indexable } from "./subject.ts";

const counts = defineTable({
  name: "foreign_event",
  columns: {
    only: column<true>("boolean default true"),
    events: "bigint",
    first_position: "bigint",
    first_stream: "text",
    first_type: "text",
    last_position: "bigint",
  },
  key: ["only"],
});

type CountRow = RowOf<typeof counts>;

/** How many events other applications have written to the store of the service, and where the first one is. */
export const foreignEventProjection: Projection = {
  name: "foreign_event",
  version: 1,
  tables: [counts],
  types: everyType,
  takesForeign: true,
  async apply(tx, events) {
    const foreign = events.filter(isCounted);
    const [first] = foreign;
    if (first === undefined) return;
    const row = await tx<CountRow>("foreign_event").first();
    const fresh = foreign.filter(({ position }) => position > (row?.last_position ?? -1n));
    const last = fresh.at(-1);
    if (last === undefined) return;
    const begun = row ?? {
      only: true,
      events: 0n,
      first_position: first.position,
      first_stream: indexable(first.stream),
      first_type: indexable(first.type),
    };
    const moved = { events: begun.events + BigInt(fresh.length), last_position: last.position };
    await write(tx, [put(counts, { ...begun, ...moved })]);
  },
};

const isCounted = ({ isForeign, stream }: Recorded): boolean =>
  isForeign === true && !stream.startsWith("$");

/** Undefined when there are none. */
export async function foreignEvents(db: Knex): Promise<CountRow | undefined> {
  return db<CountRow>("foreign_event").first();
}
