import { randomUUID } from "node:crypto";
import { rm } from "node:fs/promises";
import type { Readable } from "node:stream";
import type { Knex } from "knex";
import { takeLock } from "../postgres/lock.ts";
import type { Room } from "./room.ts";
import { type Digests, type SpoolOptions, spool, spoolPlain } from "./spool.ts";
import type { BlobDigest, BlobInfo, BlobRange, BlobStorage, Spooled } from "./store.ts";

/** Content that is stored, and kept although nothing refers to it yet. */
export type HeldBlob = Readonly<{
  digest: BlobDigest;
  bytes: number;
  digests: Digests;
  /** Once what refers to it can be seen, or when nothing ever will. */
  release: () => Promise<void>;
}>;

/** Room for content is held with it, and given back with its hold. */
type Roomy<Options> = Omit<Options, "room"> & Readonly<{ room?: Room | undefined }>;

export type PutOptions = Roomy<SpoolOptions> &
  Readonly<{
    /** Looks into what came, as a file of this machine, before it is stored; throws to refuse it. */
    inspect?: ((file: string, bytes: number) => Promise<void>) | undefined;
  }>;

export type Blobs = Readonly<{
  /**
   * Stores the source under the digest of its content and holds it. The caller appends the event that
   * refers to it, waits until that is visible, and releases; the hold of a process that died expires.
   *
   * @throws what `spool` and `inspect` throw; nothing is stored then
   */
  put: (source: Readable, options: PutOptions) => Promise<HeldBlob>;
  /** The same without other digests than the one it is named by: for content whose name is known. */
  putPlain: (source: Readable, options: Roomy<SpoolOptions>) => Promise<Omit<HeldBlob, "digests">>;
  /** Holds what is stored already, for something new that is to refer to it; undefined when it is not there. */
  hold: (digest: BlobDigest) => Promise<Omit<HeldBlob, "digests"> | undefined>;
  stat: (digest: BlobDigest) => Promise<BlobInfo | undefined>;
  /** @throws BlobMissing */
  read: (digest: BlobDigest, range?: BlobRange) => Promise<Readable>;
  /**
   * Removes a blob unless it is held or referred to. No hold on it can begin meanwhile: a writer of the
   * same content waits, and stores it again.
   *
   * @param referred whether anything refers to it, called under the lock
   */
  removeUnless: (digest: BlobDigest, referred: () => Promise<boolean>) => Promise<boolean>;
  list: BlobStorage["list"];
  sweep: BlobStorage["sweep"];
  close: () => void;
}>;

/**
 * Longer than an event takes to be visible, also while read models are being mended; the collection
 * of garbage waits for them as well.
 */
const holdHours = 24;

export function blobsOn(storage: BlobStorage, db: Knex): Blobs {
  const { stat, read, list, sweep, close } = storage;

  async function publish(
    spooled: Spooled,
    inspect?: PutOptions["inspect"],
  ): Promise<Omit<HeldBlob, "digests">> {
    const { file, digest, bytes } = spooled;
    const id = randomUUID();
    const release = () => releaseHold(db, id);
    try {
      await inspect?.(file, bytes);
      await insertHold(db, id, digest);
      // Held first: what is there by now cannot be taken away before it is referred to.
      await storage.publish(spooled);
    } catch (error) {
      await rm(file, { force: true });
      await release().catch(() => undefined);
      throw error;
    }
    return { digest, bytes, release };
  }

  return {
    async put(source, { inspect, ...options }) {
      return await inRoom(options.room, async () => {
        const { digests, ...spooled } = await spool(source, storage.spoolDirectory, options);
        return { ...(await publish(spooled, inspect)), digests };
      });
    },

    async putPlain(source, options) {
      return await inRoom(options.room, async () =>
        publish(await spoolPlain(source, storage.spoolDirectory, options)),
      );
    },

    hold: (digest) => holdStored(digest, { db, storage }),
    removeUnless: (digest, referred) => removeUnless(digest, referred, { db, storage }),

    stat,
    read,
    list,
    async sweep(before) {
      await db("public.blob_hold").where("held_until", "<", db.fn.now()).delete();
      await sweep(before);
    },
    close,
  };
}

async function inRoom<Blob extends Pick<HeldBlob, "release" | "bytes">>(
  room: Room | undefined,
  store: () => Promise<Blob>,
): Promise<Blob> {
  if (room === undefined) return await store();
  try {
    const blob = await store();
    await room.settle(blob.bytes);
    const release = async (): Promise<void> => {
      await Promise.all([blob.release(), room.release()]);
    };
    return { ...blob, release };
  } catch (error) {
    await room.release().catch(() => undefined);
    throw error;
  }
}

type Kept = Readonly<{ db: Knex; storage: BlobStorage }>;

async function holdStored(digest: BlobDigest, { db, storage }: Kept): ReturnType<Blobs["hold"]> {
  const id = randomUUID();
  await insertHold(db, id, digest);
  // Held first: what is there by now stays.
  const found = await storage.stat(digest);
  if (found !== undefined)
    return { digest, bytes: found.bytes, release: () => releaseHold(db, id) };
  await releaseHold(db, id);
  return undefined;
}

function removeUnless(
  digest: BlobDigest,
  referred: () => Promise<boolean>,
  { db, storage }: Kept,
): Promise<boolean> {
  return inTurn(db, digest, async (tx) => {
    const held = await tx("public.blob_hold")
      .where({ digest })
      .where("held_until", ">=", tx.fn.now())
      .first("id");
    if (held !== undefined || (await referred())) return false;
    await storage.remove(digest);
    return true;
  });
}

/** In turn with those who remove it, by one statement: each file that is stored begins with it. */
async function insertHold(db: Knex, id: string, digest: BlobDigest): Promise<void> {
  await db.raw(
    `with turn as materialized (select pg_advisory_xact_lock(hashtextextended(:lock, 0)))
     insert into public.blob_hold (id, digest, held_until)
     select :id, :digest, now() + make_interval(hours => :hours) from turn`,
    { lock: lockOf(digest), id, digest, hours: holdHours },
  );
}

async function releaseHold(db: Knex, id: string): Promise<void> {
  await db("public.blob_hold").where({ id }).delete();
}

const lockOf = (digest: BlobDigest): string => `blob ${digest}`;

/** Those who begin to hold a blob and those who remove it take turns, in all processes. */
function inTurn<Result>(
  db: Knex,
  digest: BlobDigest,
  run: (tx: Knex.Transaction) => Promise<Result>,
): Promise<Result> {
  return db.transaction(async (tx) => {
    await takeLock(tx, lockOf(digest));
    return run(tx);
  });
}
