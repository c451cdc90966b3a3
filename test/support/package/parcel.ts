import { randomUUID } from "node:crypto";
import { z } from "zod";
import type { AnyEvent, EventSchemas } from "../../../src/events/core/event.ts";
import { idInStream } from "../../../src/events/core/stream.ts";
import type { EventStore } from "../../../src/platform/event-store/event-store.ts";
import { change, put } from "../../../src/projections/core/change.ts";
import type { Projection } from "../../../src/projections/core/projection.ts";
import { defineReadModel, nothing } from "../../../src/projections/core/read-model.ts";
import type { Table } from "../../../src/projections/core/table.ts";
import { metadataFor } from "../app/history.ts";

/** A slice made for the tests of the projection machinery. */
export const parcelEvents = {
  ParcelSent: z.object({ to: z.string() }),
  ParcelReceived: z.object({ by: z.uuid() }),
  ParcelWeighed: z.object({ grams: z.int() }),
} as const satisfies EventSchemas;

export const receiver = "7d9c5f0e-8a55-4b5e-9a62-2a1a6f3c8a01";
export const sent = (to: string): AnyEvent => ({ type: "ParcelSent", data: { to } });
export const received: AnyEvent = { type: "ParcelReceived", data: { by: receiver } };

type ParcelRow = Readonly<{ id: string; sent_to: string; received_by: string | null }>;

const parcelsOf = (name: string): Table<ParcelRow> => ({
  name,
  columns: { id: "text", sent_to: "text", received_by: "uuid null" },
  key: ["id"],
});

/** A read model of parcels in a table of its own. */
export function parcelsInto(
  name: string,
  version = 1,
  table: Table<ParcelRow> = parcelsOf(name),
): Projection {
  return defineReadModel({
    name,
    version,
    tables: [table],
    events: parcelEvents,
    effects: {
      ParcelSent: ({ stream, data }) =>
        put(table, { id: idInStream(stream), sent_to: data.to, received_by: null }),
      ParcelReceived: ({ stream, data }) =>
        change(table, { id: idInStream(stream) }, { received_by: data.by }),
      ParcelWeighed: nothing,
    },
  });
}

export const parcel = parcelsInto("parcel");

/** Appends events to one stream, whatever is in it. */
export async function append(
  store: EventStore,
  stream: string,
  ...events: readonly AnyEvent[]
): Promise<bigint> {
  const created = events.map((event) => {
    const id = randomUUID();
    return { ...event, id, metadata: metadataFor(id) };
  });
  const { position } = await store.append(stream, "any", created);
  return position;
}
