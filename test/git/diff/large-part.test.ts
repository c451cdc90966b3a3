import { randomUUID } from "node:crypto";
import { expect } from "chai";

import { changedFiles, changedLinesIn, type FileChange } from "../../../src/git/diff/diff.ts";
import { newObject, writeObjects } from "../../../src/git/object/pack-writer.ts";
import { openGit } from "../../../src/git/repositories.ts";
import type { Repository } from "../../../src/git/repository.ts";
import { commit, git, temporaryDirectory, workingCopy } from "../../support/git/git.ts";

const dataDir = await temporaryDirectory();
const repositories = openGit({ dataDir, log: { warn: () => undefined } });
after(() => repositories.close());

describe("the diff of a large file in parts", () => {
  it("is compared once for parts that overlap, and not at all beyond its last line", async () => {
    const repository = await repositories.ensure(randomUUID(), "main");
    const copy = await workingCopy(dataDir, "overlapping");
    const rows = Array.from({ length: 20_500 }, (_, index) => `row ${index} of ${randomUUID()}\n`);
    await commit(copy, "Rows", { "rows.txt": rows.join("") });
    await git(copy, "push", "--quiet", repository.gitDir, "HEAD:refs/heads/main");
    const tree = await git(copy, "rev-parse", "HEAD^{tree}");
    const [change] = (await changedFiles(repository, undefined, tree)) as [FileChange];
    let comparisons = 0;
    // A file that was added is read by a stream for each comparison.
    const counted = Object.assign(Object.create(repository) as Repository, {
      blobStream: (id: string) => {
        comparisons += 1;
        return repository.blobStream(id);
      },
    });
    const from = (offset: number, limit = 100) =>
      changedLinesIn(counted, change, { offset, limit });
    for (let offset = 5_950; offset < 6_050; offset += 7) {
      const { lines, before } = await from(offset);
      expect(lines.map(({ added }) => added)).to.include.members([offset + 1, offset + 100]);
      expect(before.added).to.equal(offset);
    }
    expect(comparisons).to.equal(2);
    for (let offset = 20_500; offset < 30_000; offset += 3_000) {
      expect(await from(offset)).to.deep.include({ lines: [], total: 20_500 });
    }
    expect(comparisons).to.equal(2);
    expect((await from(20_450)).lines).to.have.length(50);
  });

  it("is given up for a while once git was stopped at it, whichever part is requested", async () => {
    const repository = await repositories.ensure(randomUUID(), "main");
    const before = newObject("blob", `${randomUUID()}\n`);
    const after = newObject("blob", `${randomUUID()}\n`);
    const ids = { oldId: before.id, newId: after.id, oldMode: "100644", newMode: "100644" };
    const change = { ...ids, status: "M", isLarge: true, isBinary: false } as FileChange;
    const part = (offset: number) => changedLinesIn(repository, change, { offset, limit: 10 });
    // Git fails at what is not there, as it does at its limits.
    await expect(part(0)).to.be.rejected.then((error) => {
      expect(error).to.include({ code: "diff.too_complex" });
    });
    await writeObjects(repository, [before, after]);
    await expect(part(3_000)).to.be.rejected.then((error) => {
      expect(error).to.include({ code: "diff.too_complex" });
    });
  });
});
