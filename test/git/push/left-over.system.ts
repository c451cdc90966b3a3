import { execFileSync } from "node:child_process";
import { randomBytes } from "node:crypto";
import { once } from "node:events";
import { access, mkdir, readdir, rm, utimes, writeFile } from "node:fs/promises";
import path from "node:path";
import { expect } from "chai";

import {
  removeDeadLocks,
  removeLeftOverLocks,
  removeLeftOverObjects,
  removeLeftOverUpkeep,
} from "../../../src/git/bytes.ts";
import { startPackService } from "../../../src/git/pack-service.ts";
import { packet } from "../../../src/git/pkt-line.ts";
import { updateRefs } from "../../../src/git/ref-update.ts";
import type { Repository } from "../../../src/git/repository.ts";
import { runGit } from "../../../src/git/run.ts";
import { eventually } from "../../support/app/eventually.ts";
import { commit, git, temporaryDirectory, tryGit, workingCopy } from "../../support/git/git.ts";
import { processes } from "../../support/process/process.ts";
import { needsProgram } from "../../support/process/program.ts";

const parent = await temporaryDirectory();
const hourMs = 60 * 60_000;
let gitDir: string;
let copy: string;
let count = 0;

beforeEach(async () => {
  count += 1;
  copy = await workingCopy(parent, `copy-${count}`);
  await commit(copy, "One", { "a.txt": "a\n" });
  gitDir = path.join(copy, ".git");
});

async function left(name: string, ageMs: number): Promise<string> {
  const file = path.join(gitDir, name);
  await mkdir(path.dirname(file), { recursive: true });
  await writeFile(file, "");
  const at = new Date(Date.now() - ageMs);
  await utimes(file, at, at);
  return file;
}
const isThere = (file: string) =>
  access(file).then(
    () => true,
    () => false,
  );

describe("locks that a killed git left", () => {
  for (const name of ["refs/heads/main.lock", "refs/heads/a/deep/one.lock", "packed-refs.lock"]) {
    it(`are removed when nobody can hold them any more: ${name}`, async () => {
      const [fresh, old] = [await left(`${name}`, hourMs / 2), 2 * hourMs];
      await removeLeftOverLocks(gitDir);
      expect(await isThere(fresh)).to.equal(true);
      await left(name, old);
      await removeLeftOverLocks(gitDir);
      expect(await isThere(fresh)).to.equal(false);
    });
  }

  it("keep git from changing the ref until then, and no longer", async () => {
    await left("refs/heads/main.lock", 2 * hourMs);
    const update = () => tryGit(copy, ["commit", "--allow-empty", "-qm", "Two"]);
    expect((await update()).stderr).to.contain("File exists");
    await removeLeftOverLocks(gitDir);
    expect((await update()).exitCode).to.equal(0);
  });

  for (const name of ["refs/heads/main", "packed-refs"]) {
    it(`go at once when no program lives that takes such locks: ${name}`, async () => {
      const lock = await left(`${name}.lock`, 0);
      const head = await git(copy, "rev-parse", "HEAD");
      expect(await removeDeadLocks(gitDir, ["refs/heads/other"])).to.equal(name === "packed-refs");
      expect(await removeDeadLocks(gitDir, ["refs/heads/main"])).to.equal(name !== "packed-refs");
      expect(await isThere(lock)).to.equal(false);
      expect(await git(copy, "rev-parse", "HEAD")).to.equal(head);
    });
  }

  it("do not keep the service from changing refs", async () => {
    const head = await git(copy, "rev-parse", "HEAD");
    const repository = { gitDir } as Repository;
    await left("refs/heads/new.lock", 0);
    const update = { ref: "refs/heads/new", before: null, after: head };
    expect(await updateRefs(repository, [update])).to.equal(true);
    expect(await git(copy, "rev-parse", "new")).to.equal(head);
  });

  it("are all that goes: refs and files of other names stay", async () => {
    const before = await git(copy, "for-each-ref");
    const other = await left("refs/heads/locked", 9 * hourMs);
    await writeFile(other, await git(copy, "rev-parse", "HEAD"));
    await utimes(other, new Date(0), new Date(0));
    await removeLeftOverLocks(gitDir);
    expect(await git(copy, "for-each-ref"))
      .to.contain(before)
      .and.to.contain("refs/heads/locked");
  });
});

describe("files that a killed upkeep left", () => {
  const names = [
    "objects/pack/multi-pack-index.lock",
    "objects/pack/.tmp-12-pack-0a.pack",
    "objects/info/commit-graphs/commit-graph-chain.lock",
    "objects/info/commit-graphs/tmp_graph_aB1",
    "objects/bitmap-ref-tips_aB1",
  ];
  const others = ["objects/pack/pack-0a.pack", "objects/info/commit-graphs/graph-0a.graph"];

  it("go when they are old, and nothing else does", async () => {
    const files = await Promise.all(names.map((name) => left(name, 7 * hourMs)));
    const kept = await Promise.all(others.map((name) => left(name, 7 * hourMs)));
    await removeLeftOverUpkeep(gitDir);
    for (const file of files) expect(await isThere(file), file).to.equal(false);
    for (const file of kept) expect(await isThere(file), file).to.equal(true);
  });

  describe("when it is known whether one lives", () => {
    needsProgram("flock");

    it("stay while one lives, and go at once when none does", async () => {
      const files = await Promise.all(names.map((name) => left(name, 0)));
      const end = new AbortController();
      const options = {
        holds: "upkeep",
        input: new Promise<string>(() => {}),
        signal: end.signal,
      } as const;
      const living = runGit(gitDir, ["cat-file", "--batch"], options).catch(() => undefined);
      await eventually(async () =>
        (await processes()).some(({ command }) => command.includes(`${gitDir} cat-file --batch`)),
      );
      await removeLeftOverUpkeep(gitDir);
      for (const file of files) expect(await isThere(file), file).to.equal(true);

      end.abort();
      await living;
      await removeLeftOverUpkeep(gitDir);
      for (const file of files) expect(await isThere(file), file).to.equal(false);
    });
  });
});

describe("objects that a killed git left half-way", () => {
  it("are removed when no push can be at them any more", async () => {
    const [old, fresh] = ["objects/tmp_objdir-incoming-a", "objects/pack/tmp_pack_b"];
    const quarantine = path.dirname(await left(`${old}/pack/x`, 7 * hourMs));
    const at = new Date(Date.now() - 7 * hourMs);
    await utimes(path.dirname(quarantine), at, at);
    const underWay = await left(fresh, hourMs);
    const kept = await left("objects/pack/pack-of-old.pack", 9 * hourMs);
    await removeLeftOverObjects(gitDir);
    expect(await isThere(kept)).to.equal(true);
    expect(await isThere(quarantine)).to.equal(false);
    expect(await isThere(underWay)).to.equal(true);
  });

  const quarantines = async () =>
    (await readdir(path.join(gitDir, "objects"))).filter((name) => name.startsWith("tmp_objdir"));

  /** A push of which half is here, and the program that reads the rest. */
  async function halfPushed() {
    const head = await commit(copy, "Large", { "large.bin": randomBytes(1024 ** 2) });
    const input = `${head}\n`;
    const pack = execFileSync("git", ["pack-objects", "--revs", "--stdout", "-q"], {
      ...{ cwd: copy, input, maxBuffer: 16 * 1024 ** 2 },
    });
    const command = packet(`${"0".repeat(40)} ${head} refs/heads/new\0report-status`);
    const push = startPackService(gitDir, "receive-pack", { advertise: false });
    push.stdout.resume();
    push.stderr.resume();
    push.stdin.on("error", () => undefined);
    const half = pack.subarray(0, pack.length / 2);
    push.stdin.write(Buffer.concat([command, Buffer.from("0000"), half]));
    await eventually(async () => (await quarantines()).length === 1);
    const reader = await eventually(async () =>
      (await processes()).find(
        ({ command: line, parent: of }) => of === push.pid && line.includes("index-pack"),
      ),
    );
    return { push, reader, rest: pack.subarray(half.length) };
  }

  it("stay while the push lives, which ends as if nobody had looked", async () => {
    const { push, rest } = await halfPushed();
    const lock = await left("refs/heads/main.lock", 0);
    await removeLeftOverObjects(gitDir);
    expect(await quarantines()).to.have.length(1);
    expect(await removeDeadLocks(gitDir, ["refs/heads/main"])).to.equal(false);
    expect(await isThere(lock)).to.equal(true);
    await rm(lock);

    const closed = once(push, "close");
    push.stdin.end(rest);
    expect(await closed).to.deep.equal([0, null]);
    expect(await git(copy, "rev-parse", "new")).to.equal(await git(copy, "rev-parse", "HEAD"));
    expect(await quarantines()).to.deep.equal([]);
  });

  describe("by a killed program", () => {
    needsProgram("flock");

    it("stay while one of the push's programs lives, and go when none does", async () => {
      const { push, reader } = await halfPushed();
      // Else it would end with its input.
      process.kill(reader!.pid, "SIGSTOP");
      const exited = once(push, "exit");
      push.kill("SIGKILL");
      await exited;
      await removeLeftOverObjects(gitDir);
      expect(await quarantines()).to.have.length(1);

      process.kill(reader!.pid, "SIGKILL");
      await eventually(async () => (await processes()).every(({ pid }) => pid !== reader!.pid));
      await removeLeftOverObjects(gitDir);
      expect(await quarantines()).to.deep.equal([]);
    });
  });

  it("are of pushes: what else looks like it stays until it is old", async () => {
    const others = [
      "objects/tmp_objdir-bulk-fsync-a",
      "objects/tmp_obj_b",
      "objects/tmp_objdir-x.y",
    ];
    const files = await Promise.all(others.map((name) => left(`${name}/x`, 0)));
    await removeLeftOverObjects(gitDir);
    for (const file of files) expect(await isThere(file)).to.equal(true);
  });
});
