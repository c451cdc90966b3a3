import { randomBytes } from "node:crypto";
import { mkdir, rm, symlink, writeFile } from "node:fs/promises";
import path from "node:path";
import { expect } from "chai";

import { openBlobs } from "../../../src/platform/blob/open.ts";
import { BlobMissing, blobPath } from "../../../src/platform/blob/store.ts";
import { testS3 } from "../../support/client/s3.ts";
import { blobChecks, sha256 } from "../../support/store/blob-checks.ts";

const s3 = await testS3();
const largeBytes = 1024 ** 2;
const { db, dataDir } = await blobChecks([
  { kind: "a directory", blobUrl: undefined, largeBytes },
  { kind: "S3", blobUrl: s3.urlOf("some/prefix"), largeBytes },
]);

describe("the directory of blobs", () => {
  it("answers nothing of what a link in the place of a blob points to", async () => {
    const blobs = await openBlobs({ dataDir, blobUrl: undefined }, db);
    const secret = path.join(dataDir, "secret");
    await writeFile(secret, "secret");
    const digest = sha256(randomBytes(10));
    const place = path.join(dataDir, "blobs", blobPath(digest));
    await mkdir(path.dirname(place), { recursive: true });
    await symlink(secret, place);
    await expect(blobs.read(digest)).to.be.rejectedWith(BlobMissing);
    await rm(place);
    blobs.close();
  });
});
