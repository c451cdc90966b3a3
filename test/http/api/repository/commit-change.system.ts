import { execFileSync, spawnSync } from "node:child_process";
import { randomBytes } from "node:crypto";
import { chmod, symlink } from "node:fs/promises";
import path from "node:path";
import { expect } from "chai";

import { startTestApp } from "../../../support/app/app.ts";
import {
  commitsTo,
  create,
  fieldErrors,
  move,
  remove,
  update,
} from "../../../support/git/commit-action.ts";
import { commit as commitLocally, git } from "../../../support/git/git.ts";
import {
  givenPeople,
  type People,
  type RefWorld,
  refWorlds,
} from "../../../support/git/ref-world.ts";

const app = await startTestApp();
const newWorld = await refWorlds(app);
let people: People;
let world: RefWorld;

before(async () => {
  people = await givenPeople(app);
});
beforeEach(async () => {
  world = await newWorld(people);
});

const { commit, bare, tree } = commitsTo(() => ({ world, people }));

describe("POST …/commit", () => {
  it("keeps modes, links and names that are not UTF-8, and takes bytes in base64", async () => {
    const at = (name: string) => path.join(world.copy, name);
    await commitLocally(world.copy, "Files", { "run.sh": "#!/bin/sh\n", "x/keep": "k" });
    await chmod(at("run.sh"), 0o755);
    await symlink("../../etc", at("x/link"));
    await git(world.copy, "add", "--all");
    const blob = await git(world.copy, "hash-object", "-w", "a.txt");
    const line = Buffer.concat([
      Buffer.from(`100644 ${blob}\tx/`),
      Buffer.from([0xe4, 0xff]),
      Buffer.from("\n"),
    ]);
    updateIndex(world.copy, line);
    await git(world.copy, "commit", "--quiet", "-m", "Odd");
    await git(world.copy, "push", "--quiet", "origin", "main");

    const bytes = randomBytes(5_000);
    const { status, text } = await commit([
      update("run.sh", "#!/bin/sh\necho\n"),
      { ...create("x/bin"), content: bytes.toString("base64"), encoding: "base64" },
      move("x/link", "x/moved-link"),
      move("run.sh", "bin/run.sh"),
    ]);

    expect(status, text).to.equal(200);
    expect((await bare("ls-tree", "-r", "main")).split("\n").map(short)).to.deep.equal([
      "100644 a.txt",
      "100755 bin/run.sh",
      "100644 x/bin",
      "100644 x/keep",
      "120000 x/moved-link",
      '100644 "x/\\344\\377"',
    ]);
    expect(await bare("cat-file", "-s", "main:x/bin")).to.equal("5000");
    await bare("fsck", "--full", "--strict", "--no-dangling");
  });

  it("leaves a name that is not UTF-8 alone, which is shown like another one", async () => {
    const blob = await git(world.copy, "rev-parse", "HEAD:a.txt");
    const entry = Buffer.from(`100644 blob ${blob}\tcaf\xe9.txt\n`, "latin1");
    const mktree = spawnSync("git", ["mktree"], { cwd: world.copy, input: entry });
    const args = ["commit-tree", "-m", "Latin 1", mktree.stdout.toString().trim()];
    const head = await git(world.copy, ...args);
    await git(world.copy, "push", "--quiet", "--force", "origin", `${head}:main`);

    for (const action of [update("caf\ufffd.txt", "x"), remove("caf\ufffd.txt")]) {
      const { status, body } = await commit([action]);
      expect(status).to.equal(422);
      expect(fieldErrors(body)[0]).to.include("actions.0.path");
    }
    expect(await bare("rev-parse", "main")).to.equal(head);
    expect((await commit([create("other.txt")])).status).to.equal(200);
    expect(await tree()).to.deep.equal(["100644 caf\ufffd.txt", "100644 other.txt"]);
  });

  it("loses nothing when many commit to one branch at once", async () => {
    const names = Array.from({ length: 12 }, (_, index) => `file-${index}`);
    const answers = await Promise.all(names.map((name) => commit([create(name)])));
    expect(answers.map(({ status }) => status)).to.deep.equal(names.map(() => 200));
    expect(await tree()).to.have.length(13);
    expect(await bare("rev-list", "--count", "main")).to.equal("13");
    expect(await world.recordedChanges()).to.have.length(13);
  });

  it("takes files of some megabytes", async () => {
    const content = randomBytes(8 * 1024 ** 2).toString("base64");
    const { status, text } = await commit([{ ...create("large"), content, encoding: "base64" }]);
    expect(status, text).to.equal(200);
    expect(await bare("cat-file", "-s", "main:large")).to.equal(String(8 * 1024 ** 2));
  });
});

const short = (line: string) => line.replace(/^(\d+) \w+ [0-9a-f]+\t/, "$1 ");

function updateIndex(cwd: string, input: Buffer): void {
  execFileSync("git", ["update-index", "--index-info"], { cwd, input });
}
