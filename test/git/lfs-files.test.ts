import { randomUUID } from "node:crypto";
import { expect } from "chai";

import { type LfsFile, type LfsFilesOf, lfsFiles } from "../../src/git/lfs-files.ts";
import { openGit } from "../../src/git/repositories.ts";
import { commit, git, temporaryDirectory, workingCopy } from "../support/git/git.ts";

const dataDir = await temporaryDirectory();
const repositories = openGit({ dataDir, log: { warn: () => undefined } });
after(() => repositories.close());

describe("files of LFS in histories", () => {
  it("are looked for until the signal", async () => {
    const repository = await repositories.ensure(randomUUID(), "main");
    const copy = await workingCopy(dataDir, "copy");
    const oid = "a".repeat(64);
    const pointer = `version https://git-lfs.github.com/spec/v1\noid sha256:${oid}\nsize 5\n`;
    const head = await commit(copy, "One", { "a.bin": pointer });
    await git(copy, "push", "--quiet", repository.gitDir, "main");
    const found = async (of: Partial<LfsFilesOf>) => {
      const all: LfsFile[] = [];
      for await (const some of lfsFiles(repository, { tips: [head], ...of })) all.push(...some);
      return all;
    };
    expect(await found({})).to.deep.equal([{ path: "a.bin", oid }]);
    const refused = await found({ signal: AbortSignal.abort(new Error("enough")) }).then(
      () => "looked",
      (error: Error) => error.message,
    );
    expect(refused).to.equal("enough");
  });
});
