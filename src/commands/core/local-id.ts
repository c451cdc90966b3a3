import { setTimeout as delay } from "node:timers/promises";
import { decode } from "../../events/core/decode.ts";
import type { EventMetadata, NewEvent } from "../../events/core/event.ts";
import type { ProjectId } from "../../events/core/ids.ts";
import {
  type LocalId,
  type LocalIdEvent,
  type LocalIdKind,
  localIdEvents,
  localIdStream,
} from "../../events/core/local-id.ts";
import { deterministicId } from "../../platform/deterministic-id.ts";
import {
  type EventStore,
  type ExpectedRevision,
  RevisionConflict,
} from "../../platform/event-store/event-store.ts";

/** Something that exists and needs a number. */
export type ToNumber = Readonly<{
  kind: LocalIdKind;
  projectId: ProjectId;
  subjectId: string;
  /** Position of the event that created it: its number stands after that in the log. */
  createdPosition: bigint;
}>;

export type Numbered = Readonly<{ localId: LocalId; position: bigint }>;

type Deps = Readonly<{ store: EventStore; now: () => string }>;

/** One append carries at most this many numbers. */
const batchMax = 256;
/** Numbers that are read from the end of a stream at first. */
const readFirst = 32;
/** Each lost race means that another process numbered a batch. */
const attemptsMax = 50;
const backoffMaxMs = 20;

/**
 * Gives a subject the next number of its kind in its project, or answers the number it has.
 *
 * Numbers have no gaps, because only what exists gets one; they are never reused, because the
 * sequence is a stream of its own, appended to at the revision that was read. Requests of this
 * process that wait for the same sequence share one append, in the order they came.
 *
 * @throws RevisionConflict after 50 lost races, StoreUnavailable; the call may then be repeated
 */
export function assignLocalId(
  { store, now }: Deps,
  subject: ToNumber,
  metadata: EventMetadata,
): Promise<Numbered> {
  const sequences = sequencesByStore.get(store) ?? new Map<string, Sequence>();
  sequencesByStore.set(store, sequences);
  const stream = localIdStream(subject.kind, subject.projectId);
  const assignedAt = now();
  return new Promise((resolve, reject) => {
    const sequence = sequences.get(stream) ?? { stream, waiting: [] };
    sequence.waiting.push({ subject, metadata, assignedAt, resolve, reject });
    if (sequences.has(stream)) return;
    sequences.set(stream, sequence);
    void drain(store, sequence, () => sequences.delete(stream));
  });
}

type Waiting = Readonly<{
  subject: ToNumber;
  metadata: EventMetadata;
  assignedAt: string;
  resolve: (numbered: Numbered) => void;
  reject: (error: unknown) => void;
}>;

/** The end of a stream of numbers. */
type LoadedNumbers = Readonly<{
  revision: ExpectedRevision;
  last: number;
  /** By subject: every number that may be of one of them. */
  recent: ReadonlyMap<string, Numbered>;
}>;

type Sequence = Readonly<{ stream: string; waiting: Waiting[] }>;

/** Those that are numbered now. */
const sequencesByStore = new WeakMap<EventStore, Map<string, Sequence>>();

/** @param end called as soon as nothing waits, before anything can */
async function drain(store: EventStore, sequence: Sequence, end: () => void): Promise<void> {
  // What arrives in the same turn of the event loop shares the first append.
  await Promise.resolve();
  while (sequence.waiting.length > 0) {
    const batch = sequence.waiting.splice(0, batchMax);
    try {
      const numbers = await numberAll(store, sequence, batch);
      for (const { subject, resolve, reject } of batch) {
        const numbered = numbers.get(subject.subjectId);
        if (numbered === undefined) reject(new Error(`${subject.subjectId} got no number`));
        else resolve(numbered);
      }
    } catch (error) {
      for (const { reject } of batch) reject(error);
    }
  }
  end();
}

/** @param batch after a lost race, those that came meanwhile join it */
async function numberAll(
  store: EventStore,
  { stream, waiting }: Sequence,
  batch: Waiting[],
): Promise<LoadedNumbers["recent"]> {
  for (let attempt = 1; ; attempt += 1) {
    const loaded = await load(store, stream, lowestPosition(batch));
    try {
      return await append(store, stream, loaded, batch);
    } catch (error) {
      if (!(error instanceof RevisionConflict) || attempt === attemptsMax) throw error;
      // Several processes that race for one sequence must not stay in step.
      await delay(Math.random() * backoffMaxMs);
      batch.push(...waiting.splice(0, batchMax - batch.length));
    }
  }
}

function lowestPosition(batch: readonly Waiting[]): bigint {
  const positions = batch.map(({ subject }) => subject.createdPosition);
  return positions.reduce((lowest, each) => (each < lowest ? each : lowest));
}

/** Reads the end of the stream, back to where no number of these subjects can stand. */
async function load(store: EventStore, stream: string, floor: bigint): Promise<LoadedNumbers> {
  for (let countMax = readFirst; ; countMax *= 8) {
    let revision: ExpectedRevision = "none";
    let last = 0;
    let atFloor = false;
    const newestFirst: [string, Numbered][] = [];
    for await (const recorded of store.readStreamBackwards(stream, countMax)) {
      const { data, position, ...event } = decode(localIdEvents, recorded);
      if (revision === "none") {
        revision = event.revision;
        last = data.localId;
      }
      atFloor = position <= floor || event.revision === 0n;
      if (position <= floor) break;
      newestFirst.push([data.subjectId, { localId: data.localId, position }]);
    }
    if (atFloor || revision === "none") {
      return { revision, last, recent: new Map(newestFirst) };
    }
  }
}

async function append(
  store: EventStore,
  stream: string,
  loaded: LoadedNumbers,
  batch: readonly Waiting[],
): Promise<LoadedNumbers["recent"]> {
  const fresh = new Map<string, Waiting>();
  for (const each of batch) {
    const { subjectId } = each.subject;
    if (!loaded.recent.has(subjectId) && !fresh.has(subjectId)) fresh.set(subjectId, each);
  }
  if (fresh.size === 0) return loaded.recent;
  const events = [...fresh.values()].map((each, index) => eventOf(each, loaded.last + 1 + index));
  const { position } = await store.append(stream, loaded.revision, events);
  const recent = new Map(loaded.recent);
  for (const { data } of events) recent.set(data.subjectId, { localId: data.localId, position });
  return recent;
}

function eventOf(
  { subject, metadata, assignedAt }: Waiting,
  localId: number,
): NewEvent<LocalIdEvent> {
  const { kind, projectId, subjectId } = subject;
  return {
    type: "LocalIdAssigned",
    id: deterministicId("local id", kind, subjectId),
    // The numbers are positive integers by construction.
    data: { kind, projectId, localId: localId as LocalId, subjectId, assignedAt },
    metadata,
  };
}
