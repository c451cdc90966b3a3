import { randomUUID } from "node:crypto";
import { checkCommit, type Log, streamsToCheck } from "./commit-check.ts";
import {
  type ExpectedRevision,
  metastreamOf,
  noRevision,
  originalOf,
  type ProposedEvent,
  type StoredEvent,
  ticksPerMs,
  tombstoneRevision,
} from "./event.ts";
import { StoreFailure } from "./failure.ts";
import { isSoftDeleted, softDeleteMetadata, undeleteMetadata } from "./metadata.ts";
import type { RecentPlaces } from "./recent-places.ts";
import { emptyHead, type Head, type Place, type Queryable, readPlaces } from "./storage.ts";
import type { StreamHeads } from "./stream-heads.ts";

/** What a client wants written. */
export type Order = Readonly<{
  stream: string;
  expected: ExpectedRevision;
  work:
    | Readonly<{ kind: "append"; events: readonly ProposedEvent[] }>
    | Readonly<{ kind: "delete" }>
    | Readonly<{ kind: "tombstone" }>;
}>;

/** Where the last event of an order is; undefined when nothing was written, then or before. */
export type Written = Readonly<{ revision: bigint; position: bigint | undefined }>;

export type Outcome = Written | StoreFailure;

/** Everything a batch of orders comes to, before any of it is written. */
export type Plan = Readonly<{
  events: readonly StoredEvent[];
  /** One for each order. */
  outcomes: readonly Outcome[];
  heads: ReadonlyMap<string, Head>;
}>;

type BatchContext = Readonly<{
  db: Queryable;
  heads: StreamHeads;
  recent: RecentPlaces;
  /** Of the log. */
  head: bigint;
}>;

/**
 * Decides a batch of orders in turn, each seeing the effect of those before it, and numbers the
 * events. Nothing is kept: the caches are only read, so a plan that could not be written is simply
 * dropped.
 */
export async function planBatch(orders: readonly Order[], known: BatchContext): Promise<Plan> {
  const streams = new Set(orders.flatMap((order) => streamsToCheck(order.stream)));
  const heads = await known.heads.of(known.db, [...streams]);
  const planner = new Planner(known, heads);
  const outcomes: Outcome[] = [];
  for (const order of orders) {
    try {
      outcomes.push(await planner.plan(order));
    } catch (error) {
      if (!(error instanceof StoreFailure)) throw error;
      outcomes.push(error);
    }
  }
  return { events: planner.events, outcomes, heads };
}

class Planner {
  readonly events: StoredEvent[] = [];
  readonly #places = new Map<string, Place>();
  readonly #log: Log;
  readonly #created = BigInt(Date.now()) * ticksPerMs;
  #position: bigint;

  /** @param heads of the streams of all orders; kept up to date with what is planned */
  constructor(
    { db, recent, head }: BatchContext,
    readonly heads: Map<string, Head>,
  ) {
    this.#position = head;
    this.#log = {
      head: (stream) => this.heads.get(stream) ?? emptyHead,
      recent: (stream, id) => this.#places.get(`${id} ${stream}`) ?? recent.find(stream, id),
      places: (stream, from, count) => readPlaces(db, stream, from, count),
    };
  }

  async plan({ stream, expected, work }: Order): Promise<Written> {
    const proposed = work.kind === "append" ? work.events : [];
    const ids = proposed.map((event) => event.id);
    const verdict = await checkCommit(this.#log, stream, expected, ids);
    if (verdict.kind === "repeated") return verdict.last;

    switch (work.kind) {
      case "append":
        return this.#append(stream, proposed, verdict.undelete);
      case "delete":
        // As EventStoreDB has it: there is nothing whose end could be marked.
        if (this.#log.head(stream).revision === noRevision) {
          throw new StoreFailure({
            kind: "wrongExpectedRevision",
            stream,
            expected,
            current: undefined,
          });
        }
        return this.#appendMetadata(stream, softDeleteMetadata);
      case "tombstone":
        return this.#store(stream, tombstoneRevision, systemEvent("$streamDeleted", empty));
    }
  }

  #append(stream: string, proposed: readonly ProposedEvent[], undelete: boolean): Written {
    const before = this.#log.head(stream).revision;
    if (proposed.length === 0) return { revision: before, position: undefined };
    const original = originalOf(stream);
    const undeleteOriginal = original !== undefined && this.#isSoftDeleted(original);

    let written: Written = { revision: before, position: undefined };
    for (const [index, event] of proposed.entries()) {
      written = this.#store(stream, before + BigInt(index) + 1n, event);
    }
    // The stream begins again with what was just written; what was deleted stays out of sight.
    if (undelete) this.#undelete(stream, before + 1n);
    if (undeleteOriginal) this.#undelete(original, this.#log.head(original).revision + 1n);
    return written;
  }

  #isSoftDeleted(stream: string): boolean {
    return isSoftDeleted(this.#log.head(metastreamOf(stream)).metadata);
  }

  #undelete(stream: string, revision: bigint): void {
    const { metadata } = this.#log.head(metastreamOf(stream));
    this.#appendMetadata(stream, undeleteMetadata(metadata, revision));
  }

  #appendMetadata(stream: string, metadata: Uint8Array): Written {
    const metastream = metastreamOf(stream);
    const { revision } = this.#log.head(metastream);
    return this.#store(metastream, revision + 1n, systemEvent("$metadata", metadata));
  }

  #store(stream: string, revision: bigint, event: ProposedEvent): Written {
    this.#position += 1n;
    const place = { stream, id: event.id, revision, position: this.#position };
    this.events.push({
      ...event,
      stream,
      revision,
      position: place.position,
      created: this.#created,
    });
    this.#places.set(`${event.id} ${stream}`, place);
    const metadata = originalOf(stream) === undefined ? undefined : event.data;
    this.heads.set(stream, { revision, metadata });
    return place;
  }
}

const empty = new Uint8Array();

function systemEvent(type: string, data: Uint8Array): ProposedEvent {
  return { id: randomUUID(), type, isJson: data.length > 0, data, metadata: empty };
}
