import {
  type ExpectedRevision,
  metastreamOf,
  noRevision,
  originalOf,
  tombstoneRevision,
} from "./event.ts";
import { StoreFailure } from "./failure.ts";
import { isSoftDeleted } from "./metadata.ts";
import type { Head, Place } from "./storage.ts";

/** The facts of the log that the check uses, events of the batch being planned included. */
export type Log = Readonly<{
  head: (stream: string) => Head;
  /** Where this id was stored lately; older ones may be forgotten. */
  recent: (stream: string, id: string) => Place | undefined;
  /** What is stored at `count` revisions beginning with `from`; never forgotten. */
  places: (stream: string, from: bigint, count: number) => Promise<readonly Place[]>;
}>;

export type Verdict =
  | Readonly<{ kind: "write"; undelete: boolean }>
  /** All of it was stored before; here is where its last event went. */
  | Readonly<{ kind: "repeated"; last: Place }>;

/** Streams whose heads the check of one stream reads. */
export function streamsToCheck(stream: string): readonly string[] {
  const original = originalOf(stream);
  return [stream, metastreamOf(stream), ...(original === undefined ? [] : [original])];
}

/**
 * Decides about an append the way EventStoreDB does: a conflict is first checked as a possible
 * repetition. With an exact revision (or `no_stream`) the ids stored right after it must be the
 * same; with `any` and `stream_exists` the ids must have been stored lately. A partial match is a
 * conflict. Appends nothing for a delete, so then only the revision counts.
 *
 * @throws StoreFailure wrongExpectedRevision, streamDeleted
 */
export async function checkCommit(
  log: Log,
  stream: string,
  expected: ExpectedRevision,
  ids: readonly string[],
): Promise<Verdict> {
  const { revision } = log.head(stream);
  if (isTombstoned(log, stream)) throw new StoreFailure({ kind: "streamDeleted", stream });
  const { revision: metaRevision, metadata } = log.head(metastreamOf(stream));
  const softDeleted = isSoftDeleted(metadata);
  const current = revision === noRevision ? undefined : revision;
  // Made when it is needed: most appends meet no conflict.
  const conflict = () =>
    new StoreFailure({ kind: "wrongExpectedRevision", stream, expected, current });

  if (expected === "any" || expected === "stream_exists") {
    if (expected === "stream_exists") {
      if (softDeleted) throw new StoreFailure({ kind: "streamDeleted", stream });
      if (revision === noRevision && metaRevision === noRevision) throw conflict();
    }
    const last = repeatedLately(log, stream, ids, conflict);
    return last === undefined
      ? { kind: "write", undelete: softDeleted }
      : { kind: "repeated", last };
  }

  const exact = expected === "no_stream" ? noRevision : expected;
  if (exact > revision) throw conflict();
  if (exact === revision) return { kind: "write", undelete: softDeleted };
  const last = await repeatedAt(log, stream, exact + 1n, ids, conflict);
  if (last !== undefined) return { kind: "repeated", last };
  if (expected === "no_stream" && softDeleted && ids.length > 0) {
    return { kind: "write", undelete: true };
  }
  throw conflict();
}

/** A tombstone ends the metadata stream too. */
export function isTombstoned(log: Pick<Log, "head">, stream: string): boolean {
  const original = originalOf(stream);
  if (original !== undefined && log.head(original).revision === tombstoneRevision) return true;
  return log.head(stream).revision === tombstoneRevision;
}

function repeatedLately(
  log: Log,
  stream: string,
  ids: readonly string[],
  conflict: () => StoreFailure,
): Place | undefined {
  const places = ids.map((id) => log.recent(stream, id));
  if (places[0] === undefined) return undefined;
  if (places.includes(undefined)) throw conflict();
  return places.at(-1);
}

async function repeatedAt(
  log: Log,
  stream: string,
  from: bigint,
  ids: readonly string[],
  conflict: () => StoreFailure,
): Promise<Place | undefined> {
  let stored: readonly Place[] | undefined;
  let last: Place | undefined;
  for (const [index, id] of ids.entries()) {
    const revision = from + BigInt(index);
    const recent = log.recent(stream, id);
    if (recent?.revision === revision) {
      last = recent;
      continue;
    }
    stored ??= await log.places(stream, from, ids.length);
    const place = stored.find((candidate) => candidate.revision === revision);
    if (place?.id === id) {
      last = place;
      continue;
    }
    if (index > 0) throw conflict();
    return undefined;
  }
  return last;
}
