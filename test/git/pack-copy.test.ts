import { spawn } from "node:child_process";
import { randomBytes, randomUUID } from "node:crypto";
import { once } from "node:events";
import { readdir } from "node:fs/promises";
import path from "node:path";
import { expect } from "chai";

import { copyRepository } from "../../src/git/copy.ts";
import { joined } from "../../src/git/pack-copy.ts";
import { openGit } from "../../src/git/repositories.ts";
import { commit, git, temporaryDirectory, workingCopy } from "../support/git/git.ts";

const dataDir = await temporaryDirectory();
const repositories = openGit({ dataDir, log: { warn: () => undefined } });
after(() => repositories.close());

const nothing = async (): Promise<void> => undefined;

async function filled(name: string, bytes: number) {
  const repository = await repositories.ensure(randomUUID(), "main");
  const copy = await workingCopy(dataDir, name);
  await commit(copy, "One", { "a.bin": randomBytes(bytes) });
  await git(copy, "push", "--quiet", repository.gitDir, "main");
  return repository;
}

describe("the line between two programs", () => {
  it("is no failure where the reader ends before the writer", async () => {
    const writer = spawn("sh", ["-c", "echo all; read -r line"]);
    const reader = spawn("sh", ["-c", "read -r line"]);
    const line = joined(writer.stdout, reader.stdin, nothing);
    expect(await once(reader, "close")).to.deep.equal([0, null]);
    writer.stdin.end();
    await line;
  });
});

describe("a copy of a repository", () => {
  it("has all refs and objects", async () => {
    const from = await filled("whole", 1_000);
    const to = await repositories.ensure(randomUUID(), "main");
    expect(await copyRepository(from, to, await from.refs())).to.equal(true);
    expect(await to.refs()).to.deep.equal(await from.refs());
    expect(await git(dataDir, `--git-dir=${to.gitDir}`, "fsck", "--full")).not.to.contain(
      "missing",
    );
    expect(await copyRepository(from, to, await from.refs())).to.equal(false);
  });

  it("leaves nothing where there is no room for it", async () => {
    const from = await filled("large", 300_000);
    const to = await repositories.ensure(randomUUID(), "main");
    const before = await to.bytes();
    const reach = async (bytes: number) => {
      if (bytes > 200_000) throw new Error("no room");
    };
    const refused = await copyRepository(from, to, await from.refs(), reach).catch(String);
    expect(refused).to.equal("Error: no room");
    expect(await to.bytes()).to.equal(before);
    expect(await readdir(path.join(dataDir, "repositories", "temporary"))).to.deep.equal([]);
  });

  it("fails where its refs cannot be made", async () => {
    const from = await filled("unmade", 1_000);
    const to = await repositories.ensure(randomUUID(), "main");
    const [head] = (await from.refs()).values();
    await copyRepository(from, to, new Map([["refs/heads/main/other", head!]]));
    const made = copyRepository(from, to, await from.refs()).catch((error: Error) => error.name);
    expect(await made).to.equal("GitFailure");
  });
});
