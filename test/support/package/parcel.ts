import { randomUUID } from "node:crypto";
import { z } from "zod";
import type { AnyEvent, EventSchemas } from "../../../src/events/core/event.ts";
import { idInStream } from "../../../src/events/core/stream.ts";
import type { EventStore } from "../../../src/platform/event-store/event-store.ts";
import {
  defineProjection,
  ignore,
  type Projection,
  type Tx,
} from "../../../src/projections/core/projection.ts";
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

export const parcel = parcelsInto("parcel");

/** A read model of parcels in a table of its own. */
export function parcelsInto(table: string, version = 1): Projection {
  return defineProjection({
    name: table,
    version,
    tables: [table],
    create: (tx) => createParcels(tx, table),
    events: parcelEvents,
    handlers: {
      async ParcelSent(tx, { stream, data }) {
        const row = { id: idInStream(stream), sent_to: data.to, received_by: null };
        await tx(table).insert(row).onConflict("id").merge();
      },
      async ParcelReceived(tx, { stream, data }) {
        await tx(table)
          .where({ id: idInStream(stream) })
          .update({ received_by: data.by });
      },
      ParcelWeighed: ignore,
    },
  });
}

async function createParcels(tx: Tx, name: string): Promise<void> {
  await tx.schema.createTable(name, (table) => {
    table.text("id").primary();
    table.text("sent_to").notNullable();
    table.uuid("received_by");
  });
}

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
