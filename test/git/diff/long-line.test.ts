import { randomUUID } from "node:crypto";
import { expect } from "chai";

import { changedFiles, changedLinesIn } from "../../../src/git/diff/diff.ts";
import { openGit } from "../../../src/git/repositories.ts";
import { commit, git, temporaryDirectory, workingCopy } from "../../support/git/git.ts";

const dataDir = await temporaryDirectory();
const repositories = openGit({ dataDir, log: { warn: () => undefined } });
after(() => repositories.close());

describe("a part of a large diff", () => {
  it("is compared once for several requests, also when its lines are long", async () => {
    const repository = await repositories.ensure(randomUUID(), "main");
    const copy = await workingCopy(dataDir, "copy");
    const text = `${"x".repeat(1_000)}\n`.repeat(3_100);
    const head = await commit(copy, "Long lines", { "long.txt": text });
    await git(copy, "push", "--quiet", repository.gitDir, "main");
    const tree = await git(copy, "rev-parse", `${head}^{tree}`);
    const [change] = await changedFiles(repository, undefined, tree);
    expect(change).to.include({ isLarge: true });
    const send = () => changedLinesIn(repository, change!, { offset: 0, limit: 10 });
    const [former, again] = [await send(), await send()];
    expect(former.lines).to.have.length(10);
    // The same objects: they come out of the memory.
    expect(again.lines[0]).to.equal(former.lines[0]);
  });
});
