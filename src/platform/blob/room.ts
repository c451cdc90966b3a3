import { setTimeout as delay } from "node:timers/promises";
import type { Knex } from "knex";

import { Refusal } from "../refusal.ts";

/** What stored bytes count for. */
export type Quota = Readonly<{
  /** The same in all processes. */
  key: string;
  allowedBytes: number;
  /** What is there and can be seen, measured now. */
  takenBytes: () => Promise<number>;
}>;

/** Room for one file, taken as it comes. */
export type Room = Readonly<{
  /** Takes room for so many bytes in all. @throws Refusal 413 `project.full` */
  reach: (bytes: number) => Promise<void>;
  /** All of it has come: gives back what is beyond. */
  settle: (bytes: number) => Promise<void>;
  /** Once what came is counted as stored, or is gone. */
  release: () => Promise<void>;
}>;

const nothing = async (): Promise<void> => undefined;
export const noLimit: Room = { reach: nothing, settle: nothing, release: nothing };

const table = "public.quota_hold";
/** A process that was killed renews nothing. */
const leaseSeconds = 60;
const renewMs = 15_000;
/** In case that nobody releases it: what was appended is visible long before. */
const renewedMaxMs = 24 * 60 * 60_000;
const firstBytes = 1024 ** 2;
const stepBytesMax = 64 * 1024 ** 2;
const turnMs = 20;
const turnsMax = 250;

/** What others hold of a quota, in bytes. */
export async function heldBytes(db: Knex, key: string): Promise<number> {
  return (await earlier(db, key, null)).bytes;
}

/** @param expectedBytes as the sender says, when it says it; with what is beside the file */
export function openRoom(db: Knex, quota: Quota, expectedBytes = 0): Room {
  const numbers: string[] = [];
  let held = 0;
  return {
    async reach(bytes) {
      if (bytes <= held) return;
      const expected = held === 0 ? expectedBytes : 0;
      const step = Math.min(Math.max(held, firstBytes), stepBytesMax);
      const wanted = Math.max(bytes - held, expected === 0 ? step : expected);
      const taken = await take(db, quota, { wanted, atLeast: bytes - held });
      numbers.push(taken.number);
      leasesOf(db).add(taken.number);
      held += taken.bytes;
    },
    async settle(bytes) {
      const [first, ...others] = numbers;
      if (bytes >= held || first === undefined) return;
      numbers.length = 1;
      held = bytes;
      leasesOf(db).remove(others);
      await db(table).whereIn("number", others).delete();
      await db(table).where("number", first).update({ bytes });
    },
    async release() {
      const given = numbers.splice(0);
      if (given.length === 0) return;
      leasesOf(db).remove(given);
      await db(table).whereIn("number", given).delete();
    },
  };
}

/** A part of a room that several files of one request share, each with its own count. Who opened it gives it back. */
export function shareOf(room: Room, total: { bytes: number }): Room {
  let own = 0;
  return {
    async reach(bytes) {
      total.bytes += Math.max(0, bytes - own);
      own = Math.max(own, bytes);
      await room.reach(total.bytes);
    },
    settle: nothing,
    release: nothing,
  };
}

/** @throws Refusal 413 `project.full` unless so much is left */
export async function mustHaveRoom(db: Knex, quota: Quota, bytes: number): Promise<Room> {
  const room = openRoom(db, quota, bytes);
  await room.reach(bytes);
  return room;
}

/** Gives the room back afterwards: but what may have been appended keeps it until it can be seen. */
export async function holding<Result>(
  room: Room,
  run: (room: Room) => Promise<Result>,
): Promise<Result> {
  try {
    const result = await run(room);
    await room.release();
    return result;
  } catch (error) {
    if (!(error instanceof Refusal && error.kind === "unavailable")) await room.release();
    throw error;
  }
}

type Taken = Readonly<{ number: string; bytes: number }>;

/**
 * Says what is wanted first, and then looks what those before have left, so of two at once the later one always sees
 * the earlier one. What others hold is read before what is stored: what becomes stored meanwhile counts twice, never
 * not at all, and the look is repeated before anything is refused for it.
 */
async function take(
  db: Knex,
  quota: Quota,
  { wanted, atLeast }: Readonly<{ wanted: number; atLeast: number }>,
): Promise<Taken> {
  if (atLeast > quota.allowedBytes) throw full();
  const number = await insert(db, quota.key, wanted);
  try {
    for (let turn = 1; ; turn += 1) {
      const before = await earlier(db, quota.key, number);
      const left = quota.allowedBytes - (await quota.takenBytes()) - before.bytes;
      if (left >= wanted) return await grant(db, number, wanted);
      const now = await earlier(db, quota.key, number);
      const isSettled = now.pending === 0 && now.bytes === before.bytes;
      if (isSettled && left >= atLeast) return await grant(db, number, left);
      // What is not granted yet may be too much as well, and leave its room.
      const isHopeless = left + before.pending < atLeast && now.bytes === before.bytes;
      if (isSettled || isHopeless || turn === turnsMax) throw full();
      await delay(turnMs);
    }
  } catch (error) {
    await db(table).where({ number }).delete();
    throw error;
  }
}

/** In turn with others of the quota: the numbers are in the order in which they can be seen. */
async function insert(db: Knex, key: string, bytes: number): Promise<string> {
  const { rows } = await db.raw<{ rows: readonly Readonly<{ number: bigint }>[] }>(
    `with turn as materialized (select pg_advisory_xact_lock(hashtextextended(:lock, 0))),
       ended as (delete from ${table} where quota = :key and held_until < now())
     insert into ${table} (quota, bytes, is_granted, held_until)
     select :key, :bytes, false, now() + make_interval(secs => :leaseSeconds) from turn
     returning number`,
    { lock: `quota ${key}`, key, bytes, leaseSeconds },
  );
  const [row] = rows;
  return String(row?.number);
}

async function grant(db: Knex, number: string, bytes: number): Promise<Taken> {
  await db(table).where({ number }).update({ bytes, is_granted: true });
  return { number, bytes };
}

type Held = Readonly<{ bytes: number; pending: number }>;

/** @param number null: all of them */
async function earlier(db: Knex, key: string, number: string | null): Promise<Held> {
  const { rows } = await db.raw<{ rows: readonly Readonly<{ bytes: string; pending: string }>[] }>(
    `select coalesce(sum(bytes), 0) as bytes,
       coalesce(sum(bytes) filter (where not is_granted), 0) as pending
     from ${table}
     where quota = :key and held_until >= now() and (:number::bigint is null or number < :number)`,
    { key, number },
  );
  const [row] = rows;
  return { bytes: Number(row?.bytes ?? 0), pending: Number(row?.pending ?? 0) };
}

const full = () => new Refusal("too_large", "project.full", "The project has no room left.");

/** What this process holds, renewed by one statement for all. */
class Leases {
  readonly #db: Knex;
  readonly #since = new Map<string, number>();
  #timer: NodeJS.Timeout | undefined;

  constructor(db: Knex) {
    this.#db = db;
  }

  add(number: string): void {
    this.#since.set(number, performance.now());
    this.#timer ??= setInterval(() => void this.#renew(), renewMs).unref();
  }

  remove(numbers: readonly string[]): void {
    for (const number of numbers) this.#since.delete(number);
    if (this.#since.size > 0) return;
    clearInterval(this.#timer);
    this.#timer = undefined;
  }

  async #renew(): Promise<void> {
    const oldest = performance.now() - renewedMaxMs;
    this.remove([...this.#since].flatMap(([number, at]) => (at < oldest ? [number] : [])));
    const until = this.#db.raw("now() + make_interval(secs => ?)", [leaseSeconds]);
    // The next turn renews them while the database cannot be reached.
    await this.#db(table)
      .whereRaw("number = any(?::bigint[])", [[...this.#since.keys()]])
      .update({ held_until: until })
      .catch(() => undefined);
  }
}

const leases = new WeakMap<Knex, Leases>();

function leasesOf(db: Knex): Leases {
  const known = leases.get(db) ?? new Leases(db);
  leases.set(db, known);
  return known;
}
