import { randomBytes, randomUUID } from "node:crypto";
import { Readable } from "node:stream";
import { expect } from "chai";

import { handle } from "../../../src/commands/core/handle.ts";
import { packageVersion } from "../../../src/commands/package/version.ts";
import { release } from "../../../src/commands/release/release.ts";
import { ReleaseFileId, ReleaseId } from "../../../src/events/core/ids.ts";
import { coordinatesOf, packageFileIdOf } from "../../../src/package/core/coordinates.ts";
import { genericName, plainVersion } from "../../../src/package/generic/format.ts";
import { examineBlobs } from "../../../src/services/git/integrity-check.ts";
import { blobCollectionWorker, sweepBlobs } from "../../../src/workers/git/blob-collection.ts";
import { at, metadataFor } from "../../support/app/history.ts";
import { givenProject, testWorkers } from "../../support/app/worker-deps.ts";

const { deps, clock } = await testWorkers();
const { blobs } = deps;
const collect = () => blobCollectionWorker.runJob({}, deps, new AbortController().signal);
const put = () => blobs.put(Readable.from([randomBytes(1_000)]), { bytesMax: 10_000 });
const isThere = async (digest: string) => (await blobs.stat(digest)) !== undefined;

beforeEach(() => {
  clock.now = new Date(Date.now() + 2 * 60 * 60_000);
});

describe("the collection of blobs", () => {
  it("keeps what is referred to, and takes it once nothing refers to it", async () => {
    const { projectId, userId: by } = await givenProject(deps, "collected");
    const within = { projectId, by, at } as const;
    const releaseId = ReleaseId.parse(randomUUID());
    const fileId = ReleaseFileId.parse(randomUUID());
    const blob = await put();
    const details = { title: "One", description: null, tagName: "v1", preRelease: false };
    const file = { fileId, name: "a", bytes: blob.bytes, ...blob.digests };
    for (const command of [
      { type: "CreateRelease", releaseId, commitId: null, ...details, ...within },
      { type: "AddReleaseFiles", files: [file], ...within },
    ] as const) {
      const metadata = metadataFor(randomUUID());
      await handle(deps.store, release, { id: releaseId, command, metadata });
    }
    // Visible to the collection, although nobody has waited for it.
    await blob.release();
    await collect();
    expect(await isThere(blob.digest)).to.equal(true);

    const command = { type: "DeleteRelease", ...within } as const;
    await handle(deps.store, release, {
      id: releaseId,
      command,
      metadata: metadataFor(randomUUID()),
    });
    await collect();
    expect(await isThere(blob.digest)).to.equal(false);
  });

  it("keeps a package's file, and takes what it replaced", async () => {
    const { userId: by } = await givenProject(deps, "packaged");
    const coordinates = coordinatesOf("instance", "generic", {
      packageName: genericName("forge"),
      version: plainVersion("1.0"),
    });
    const { packageVersionId: id } = coordinates;
    const fileId = packageFileIdOf(id, "a");
    const [before, after] = [await put(), await put()];
    for (const { bytes, digests, release: letGo } of [before, after]) {
      const about = { uploadType: "API", languageVersion: null } as const;
      const file = { fileId, name: "a", bytes, ...digests, ...about };
      const command = { type: "StorePackageFile", coordinates, file, by, at } as const;
      const metadata = metadataFor(randomUUID());
      await handle(deps.store, packageVersion, { id, command, metadata });
      await letGo();
    }
    await collect();
    expect(await isThere(before.digest), "replaced").to.equal(false);
    expect(await isThere(after.digest), "in its place").to.equal(true);
    const found = [];
    const deaf = new AbortController().signal;
    await blobs.removeUnless(after.digest, async () => false);
    for await (const finding of examineBlobs(deps, { repair: false, signal: deaf })) {
      found.push(finding);
    }
    const problem = "it is not there, and something refers to it";
    const subject = `blob ${after.digest}`;
    expect(found).to.deep.include({ subject, problem, repaired: false });
  });

  it("keeps what is held, and what is young", async () => {
    const [held, young] = [await put(), await put()];
    await young.release();
    clock.now = new Date();
    await collect();
    expect(await isThere(young.digest), "young").to.equal(true);
    clock.now = new Date(Date.now() + 2 * 60 * 60_000);
    await collect();
    expect(await isThere(held.digest), "held").to.equal(true);
    expect(await isThere(young.digest), "neither").to.equal(false);
  });

  it("removes nothing while a read model that may refer to it has stopped", async () => {
    const { digest, release: letGo } = await put();
    await letGo();
    const checkpoint = () => deps.db("projection_checkpoint").where("name", "package_version");
    await checkpoint().update({ state: "failed" });
    await collect();
    expect(await isThere(digest)).to.equal(true);
    await checkpoint().update({ state: "live" });
    await collect();
    expect(await isThere(digest)).to.equal(false);
  });

  it("is queued once in a period, however often it is checked", async () => {
    const added: string[] = [];
    const queues = { add: async (jobs: readonly { id: string }[]) => void added.push(jobs[0]!.id) };
    const sweep = (now: string) =>
      sweepBlobs({ queues, now: () => new Date(now) } as unknown as typeof deps);
    await sweep("2026-11-21T12:00:00.000Z");
    await sweep("2026-11-21T17:59:59.000Z");
    await sweep("2026-11-21T18:00:00.000Z");
    expect(new Set(added).size).to.equal(2);
  });
});
