import { createHash, randomBytes, randomUUID } from "node:crypto";
import { readdir, readFile, utimes, writeFile } from "node:fs/promises";
import path from "node:path";
import { Readable } from "node:stream";
import { buffer } from "node:stream/consumers";
import { expect } from "chai";

import { openBlobs } from "../../../src/platform/blob/open.ts";
import { BlobMissing, isBlobDigest } from "../../../src/platform/blob/store.ts";
import { temporaryDirectory } from "../git/git.ts";
import { testDatabase } from "./database.ts";

export const sha256 = (content: Buffer): string =>
  createHash("sha256").update(content).digest("hex");
const limit = { bytesMax: 64 * 1024 ** 2 };
const never = async () => false;
const hourMs = 60 * 60_000;
const later = () => new Date(Date.now() + 60_000);

async function collected(digests: AsyncIterable<string>): Promise<string[]> {
  const found: string[] = [];
  for await (const digest of digests) found.push(digest);
  return found;
}

type Place = Readonly<{ kind: string; blobUrl: string | undefined; largeBytes: number }>;

/** Declares what holds for blobs wherever they are kept; call it with `await` at the top of a file. */
export async function blobChecks(places: readonly Place[]) {
  const { db } = await testDatabase();
  const dataDir = await temporaryDirectory();
  for (const place of places) {
    const given = await openedAt(place, { db, dataDir });
    describe(`blobs in ${place.kind}`, () => {
      storing(given);
      refusing(given);
      removing(given);
    });
  }
  return { db, dataDir };
}

type Stores = Readonly<{ db: Awaited<ReturnType<typeof testDatabase>>["db"]; dataDir: string }>;

type Given = Awaited<ReturnType<typeof openedAt>>;

async function openedAt({ blobUrl, largeBytes }: Place, { db, dataDir }: Stores) {
  const spoolDirectory = path.join(dataDir, "blobs", "temporary");
  const blobs = await openBlobs({ dataDir, blobUrl }, db);
  after(() => blobs.close());
  return {
    blobs,
    db,
    largeBytes,
    spoolDirectory,
    put: (content: Buffer, options: object = {}) =>
      blobs.put(Readable.from([content]), { ...limit, ...options }),
    spooled: () => readdir(spoolDirectory).catch((): string[] => []),
  };
}

/** What is stored is what is read. */
function storing({ blobs, put, spooled, db, largeBytes }: Given): void {
  it("are what was put, whole and in parts, known by every digest", async () => {
    const content = randomBytes(100_000);
    const { digest, bytes, digests, release } = await put(content);
    expect([digest, bytes]).to.deep.equal([sha256(content), content.length]);
    for (const [name, value] of Object.entries(digests)) {
      expect(value, name).to.equal(createHash(name).update(content).digest("hex"));
    }
    expect(await blobs.stat(digest)).to.deep.equal({ bytes });
    expect(await buffer(await blobs.read(digest))).to.deep.equal(content);
    const middle = await blobs.read(digest, { first: 10, last: 99 });
    expect(await buffer(middle)).to.deep.equal(content.subarray(10, 100));
    const tail = await blobs.read(digest, { first: 99_999, last: 99_999 });
    expect(await buffer(tail)).to.deep.equal(content.subarray(99_999));
    expect(await spooled()).to.deep.equal([]);
    await release();
  });

  it("whose name is known are held to it, and cost one digest", async () => {
    const content = randomBytes(1_000);
    const plain = (sha: string) =>
      blobs.putPlain(Readable.from([content]), {
        ...limit,
        expected: { sha256: sha, bytes: 1_000 },
      });
    await expect(plain(sha256(randomBytes(10)))).to.be.rejectedWith("not what its object id says");
    expect(await blobs.stat(sha256(content))).to.equal(undefined);
    const { digest, bytes, release } = await plain(sha256(content));
    expect([digest, bytes]).to.deep.equal([sha256(content), 1_000]);
    expect(await buffer(await blobs.read(digest))).to.deep.equal(content);
    expect(await db("public.blob_hold").where({ digest })).to.have.length(1);
    await release();
    expect(await spooled()).to.deep.equal([]);
  });

  it("are looked into before they are stored, and not stored when that refuses them", async () => {
    const content = randomBytes(1_000);
    const seen: (readonly [Buffer, number])[] = [];
    const inspect = async (file: string, bytes: number) => {
      seen.push([await readFile(file), bytes]);
    };
    const { digest, release } = await put(content, { inspect });
    expect(seen).to.deep.equal([[content, 1_000]]);
    await release();
    const other = randomBytes(1_000);
    const refuses = async () => {
      expect(await blobs.stat(sha256(other)), "not there yet").to.equal(undefined);
      throw new Error("refused");
    };
    await expect(put(other, { inspect: refuses })).to.be.rejectedWith("refused");
    expect(await blobs.stat(sha256(other))).to.equal(undefined);
    expect(await spooled()).to.deep.equal([]);
    expect(await db("public.blob_hold").where({ digest: sha256(other) })).to.deep.equal([]);
    expect(await blobs.stat(digest)).to.deep.equal({ bytes: 1_000 });
  });

  it("can be empty, and large", async () => {
    for (const content of [Buffer.alloc(0), randomBytes(largeBytes)]) {
      const { digest, bytes } = await put(content);
      expect(bytes).to.equal(content.length);
      expect(sha256(await buffer(await blobs.read(digest)))).to.equal(sha256(content));
    }
  });
}

/** Neither a second copy nor what is refused or broken off stays. */
function refusing({ blobs, put, spooled }: Given): void {
  it("are stored once, however often they are put, also at the same time", async () => {
    const content = randomBytes(10_000);
    const all = await Promise.all(Array.from({ length: 6 }, () => put(content)));
    expect(new Set(all.map(({ digest }) => digest)).size).to.equal(1);
    const listed = await collected(blobs.list(later()));
    expect(listed.filter((digest) => digest === sha256(content))).to.have.length(1);
    expect(await spooled()).to.deep.equal([]);
  });

  it("are refused over the limit, and leave nothing", async () => {
    const content = randomBytes(10_001);
    const whole = put(content, { bytesMax: 10_000 });
    await expect(whole).to.be.rejected.and.eventually.include({ code: "blob.too_large" });
    expect(await blobs.stat(sha256(content))).to.equal(undefined);
    expect(await spooled()).to.deep.equal([]);
  });

  it("are refused when they are not what was announced, and leave nothing", async () => {
    const content = randomBytes(1_000);
    const right = { sha256: sha256(content), bytes: content.length };
    for (const [expected, code] of [
      [{ ...right, sha256: sha256(Buffer.from("other")) }, "blob.digest_mismatch"],
      [{ ...right, bytes: 999 }, "blob.size_mismatch"],
    ] as const) {
      await expect(put(content, { expected })).to.be.rejected.and.eventually.include({ code });
    }
    expect(await blobs.stat(right.sha256)).to.equal(undefined);
    expect(await spooled()).to.deep.equal([]);
    expect((await put(content, { expected: right })).digest).to.equal(right.sha256);
  });

  it("leave nothing when the sender breaks off or the caller gives up", async () => {
    const broken = new Readable({ read: () => undefined });
    broken.push(randomBytes(5_000));
    const cut = blobs.put(broken, limit);
    broken.destroy(new Error("the line is dead"));
    await expect(cut).to.be.rejectedWith("the line is dead");

    const waiting = new Readable({ read: () => undefined });
    waiting.push(randomBytes(5_000));
    const giving = new AbortController();
    const given = blobs.put(waiting, { ...limit, signal: giving.signal });
    giving.abort();
    await expect(given).to.be.rejected.and.eventually.include({ name: "AbortError" });
    expect(await spooled()).to.deep.equal([]);
  });

  it("that are not there are missing, and none is named by anything but a digest", async () => {
    const digest = sha256(randomBytes(8));
    await expect(blobs.read(digest)).to.be.rejectedWith(BlobMissing);
    expect(await blobs.stat(digest)).to.equal(undefined);
    for (const name of ["", "../../etc/passwd", `${digest}/..`, digest.toUpperCase()]) {
      expect(isBlobDigest(name)).to.equal(false);
      await expect((async () => blobs.read(name))()).to.be.rejectedWith("Not a blob's digest");
    }
  });
}

/** What nothing refers to goes. */
function removing({ blobs, put, spooled, spoolDirectory, db }: Given): void {
  it("are removed when nothing refers to them and nobody holds them", async () => {
    const { digest, release } = await put(randomBytes(500));
    expect(await blobs.removeUnless(digest, never), "held").to.equal(false);
    await release();
    expect(await blobs.removeUnless(digest, async () => true), "referred").to.equal(false);
    expect(await blobs.stat(digest)).not.to.equal(undefined);
    expect(await blobs.removeUnless(digest, never)).to.equal(true);
    expect(await blobs.stat(digest)).to.equal(undefined);
    expect(await blobs.removeUnless(digest, never), "again").to.equal(true);
  });

  it("held by a dead process are kept for a time, and no longer", async () => {
    const { digest } = await put(randomBytes(500));
    const hold = () => db("public.blob_hold").where({ digest });
    await hold().update({ held_until: new Date(Date.now() - 1_000) });
    await blobs.sweep(new Date(0));
    expect(await hold()).to.deep.equal([]);
    expect(await blobs.removeUnless(digest, never)).to.equal(true);
  });

  it("survive when they are stored while they are being removed", async () => {
    const content = randomBytes(2_000);
    const { digest, release } = await put(content);
    await release();
    let again: ReturnType<typeof put> | undefined;
    // Checked under the lock: a concurrent upload of the content has to wait until it is gone.
    const removed = await blobs.removeUnless(digest, async () => {
      again = put(content);
      return false;
    });
    expect(removed).to.equal(true);
    await again;
    expect(await buffer(await blobs.read(digest))).to.deep.equal(content);
    expect(await blobs.removeUnless(digest, never), "held").to.equal(false);
  });

  it("are listed when they are older than a moment", async () => {
    const { digest } = await put(randomBytes(300));
    expect(await collected(blobs.list(later()))).to.include(digest);
    expect(await collected(blobs.list(new Date(Date.now() - 60_000)))).not.to.include(digest);
  });

  it("give up what dead processes left, once it is old", async () => {
    await put(randomBytes(10));
    for (const [name, age] of [
      ["old", 10 * hourMs],
      ["young", 0],
    ] as const) {
      const file = path.join(spoolDirectory, `${name}-${randomUUID()}`);
      await writeFile(file, "half");
      const at = new Date(Date.now() - age);
      await utimes(file, at, at);
    }
    await blobs.sweep(new Date(Date.now() - 5 * hourMs));
    const left = await spooled();
    expect(left).to.have.length(1);
    expect(left[0]).to.match(/^young-/);
    await blobs.sweep(later());
    expect(await spooled()).to.deep.equal([]);
  });
}
