import { randomUUID } from "node:crypto";
import { expect } from "chai";

import { openGit } from "../../src/git/repositories.ts";
import type { Repository } from "../../src/git/repository.ts";
import { runGit } from "../../src/git/run.ts";
import { commit, git, temporaryDirectory, workingCopy } from "../support/git/git.ts";

const dataDir = await temporaryDirectory();
const log = { warn: () => undefined };
const repositories = openGit({ dataDir, log });
const fresh = openGit({ dataDir, log });
after(async () => {
  await repositories.close();
  await fresh.close();
});

const projectId = randomUUID();
let repository: Repository;
let first: string;

before(async () => {
  repository = await repositories.ensure(projectId, "main");
  const copy = await workingCopy(dataDir, "copy");
  first = await commit(copy, "First", { "README.md": "one\n", "src/a.ts": "a\n" });
  await git(copy, "push", "--quiet", repository.gitDir, "main");
});

describe("reading a repository", () => {
  it("reads no commit and no tree of a size that nobody makes", async () => {
    const write = async (type: string, input: Buffer): Promise<string> => {
      const args = ["hash-object", "-w", "-t", type, "--stdin"] as const;
      return (await runGit(repository.gitDir, [...args], { input })).stdout.toString().trim();
    };
    const { treeId } = (await repository.objects.commit(first))!;
    const who = "A <a@b> 1700000000 +0000";
    const message = "x".repeat(32 * 1024 ** 2);
    const commitText = `tree ${treeId}\nauthor ${who}\ncommitter ${who}\n\n${message}`;
    const commitId = await write("commit", Buffer.from(commitText));
    const id = Buffer.from(first, "hex");
    const entries = Array.from({ length: 8_500 }, (_, at) =>
      Buffer.concat([Buffer.from(`160000 ${`${at}`.padStart(4_000, "0")}\0`), id]),
    );
    const largeTree = await write("tree", Buffer.concat(entries));
    expect(await repository.objects.commit(commitId)).to.equal(undefined);
    expect(await repository.objects.tree(largeTree)).to.equal(undefined);
    expect(await repository.objects.treeData(largeTree)).to.equal(undefined);
  });

  it("still reads everything after maintenance, and the check finds nothing", async () => {
    await repository.maintain();
    await repository.check();
    expect((await repository.refs()).get("refs/heads/main")).to.equal(first);
    expect((await (await fresh.find(projectId))!.objects.commit(first))?.id).to.equal(first);
  });
});
