import { chmod, mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { expect } from "chai";

import { locateBinaries } from "../../../src/embedded/postgres/binaries.ts";
import { assertReachable, chooseRunAs, type RunAs } from "../../../src/embedded/postgres/run-as.ts";
import { startPostgres } from "../../../src/embedded/postgres/server.ts";

/** Replaces the user postgres, who does not exist on every machine. */
const nobody: RunAs = { prefix: [], user: { uid: 65534, gid: 65534 } };
const isRoot = process.getuid?.() === 0;
const { postgres } = await locateBinaries();
/** Below /root nobody else reaches the binaries. */
const binariesReached = isRoot && (await reaches(nobody, postgres));

describe("running PostgreSQL", () => {
  it("needs no other user for an ordinary user, and never stays root for root", async () => {
    const { prefix, user } = await chooseRunAs();
    expect(prefix.length > 0 || user !== undefined).to.equal(isRoot);
  });

  // Only root may change to another user.
  if (isRoot) {
    it("says which directory the other user cannot reach", async () => {
      const dir = await mkdtemp(path.join(tmpdir(), "lf-private-"));
      await expect(assertReachable(nobody, ["/", dir])).to.be.rejectedWith(`cannot reach ${dir}`);
      await rm(dir, { recursive: true });
    });
  }

  if (binariesReached) {
    it("works as another user of the system where root has no user namespaces", async () => {
      const parent = await mkdtemp(path.join(tmpdir(), "lf-other-"));
      await chmod(parent, 0o755);
      const dataDir = path.join(parent, "data");
      const server = await startPostgres({ dataDir, durable: false, runAs: nobody });
      await server.close();
      await rm(parent, { recursive: true });
    });
  }
});

function reaches(runAs: RunAs, file: string): Promise<boolean> {
  return assertReachable(runAs, [file]).then(
    () => true,
    () => false,
  );
}
