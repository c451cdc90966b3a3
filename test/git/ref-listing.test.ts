import { randomUUID } from "node:crypto";
import { readFile, rm, writeFile } from "node:fs/promises";
import path from "node:path";
import { expect } from "chai";

import { parseCommandRequest } from "../../src/git/command-request.ts";
import { lsRefsAnswer, lsRefsParams } from "../../src/git/ls-refs.ts";
import { flushPacket, packet } from "../../src/git/pkt-line.ts";
import { openGit } from "../../src/git/repositories.ts";
import type { Repository } from "../../src/git/repository.ts";
import { commit, git, temporaryDirectory, workingCopy } from "../support/git/git.ts";

const dataDir = await temporaryDirectory();
const repositories = openGit({ dataDir, log: { warn: () => undefined } });
after(() => repositories.close());

let copy: string;
let repository: Repository;
let first: string;

beforeEach(async () => {
  repository = await repositories.ensure(randomUUID(), "main");
});
before(async () => {
  copy = await workingCopy(dataDir, "copy");
  first = await commit(copy, "First");
  await commit(copy, "Second");
  await git(copy, "tag", "-a", "v1", "-m", "One", first);
  await git(copy, "tag", "-a", "again", "-m", "A tag of a tag", "v1");
  await git(copy, "tag", "tree", "HEAD^{tree}");
  await git(copy, "tag", "-a", "of-tree", "-m", "Of a tree", "HEAD^{tree}");
});

/** The request as git's client writes it. */
function request(...args: readonly string[]): Buffer {
  const known = ["agent=git/2.39.5-Linux", "server-option=a=b", "object-format=sha1"];
  const lines = ["command=ls-refs\n", ...known];
  const delimiter = Buffer.from("0001");
  return Buffer.concat([
    ...lines.map((line) => packet(line)),
    delimiter,
    ...args.map((arg) => packet(`${arg}\n`)),
    flushPacket,
  ]);
}

function wants(body: Buffer) {
  const parsed = parseCommandRequest(body);
  return parsed && lsRefsParams(parsed);
}

const usual = ["peel", "symrefs", "unborn"];
const ofClone = [...usual, "ref-prefix HEAD", "ref-prefix refs/heads/", "ref-prefix refs/tags/"];
const questions = [
  ofClone,
  usual,
  [],
  ["peel"],
  ["symrefs", "ref-prefix HEAD"],
  ["unborn", "ref-prefix HEAD"],
  ["peel", "ref-prefix refs/heads/feature", "ref-prefix refs/tags/v", "ref-prefix v1"],
  ["peel", "ref-prefix refs/nothing"],
];

/** What upload-pack itself answers. */
async function said(body: Buffer): Promise<string> {
  const child = repository.start("upload-pack", { advertise: false, protocol: "version=2" });
  child.stdin.end(body);
  const chunks: Buffer[] = [];
  for await (const chunk of child.stdout) chunks.push(chunk as Buffer);
  return Buffer.concat(chunks).toString();
}

async function expectSame(): Promise<void> {
  const listing = await repository.refListing();
  if (listing === undefined) throw new Error("there is no listing");
  for (const question of questions) {
    const body = request(...question);
    const params = wants(body);
    if (params === undefined) throw new Error("the request was not understood");
    expect(lsRefsAnswer(params, listing).toString(), question.join()).to.equal(await said(body));
  }
}

const push = (...refs: readonly string[]) =>
  git(copy, "push", "--quiet", repository.gitDir, ...refs);
const everything = [
  "main",
  "main:refs/heads/feature/a",
  "main:refs/heads/feature-b",
  "main:refs/heads/é",
  "main:refs/heads/\u{1f600}",
  "main:refs/heads/\uff5a",
  "--tags",
];

describe("the listing of refs", () => {
  it("is what git says of an empty repository", () => expectSame());

  it("is what git says of refs in files, packed, and packed and changed since", async () => {
    await push(...everything);
    await expectSame();
    await git(repository.gitDir, "pack-refs", "--all", "--prune");
    await expectSame();
    await push("--force", `${first}:refs/heads/main`, "HEAD:refs/tags/v1", "v1:refs/tags/v2");
    await push(":refs/heads/feature/a", ":refs/tags/again");
    await expectSame();
    expect((await repository.refListing())?.refs.find(({ name }) => name === "refs/tags/v2"))
      .to.have.property("peeled")
      .that.equals(first);
  });

  it("is what git says when HEAD points to no branch that is there", async () => {
    await push("main:refs/heads/other");
    await expectSame();
  });

  it("leaves to git what only git understands", async () => {
    await push("main", "v1");
    const file = path.join(repository.gitDir, "refs", "tags", "odd");
    const missing = `${"1".repeat(40)}\n`;
    for (const content of ["ref: refs/heads/main\n", "", "abc\n", missing]) {
      await writeFile(file, content);
      expect(await repository.refListing(), content).to.equal(undefined);
    }
    await rm(file);
    await git(repository.gitDir, "update-ref", "--no-deref", "HEAD", first);
    expect(await repository.refListing()).to.equal(undefined);
  });

  it("does not read what git writes beside refs, nor refs of other kinds", async () => {
    await push("main");
    await writeFile(path.join(repository.gitDir, "refs/heads/new.lock"), "half");
    await git(repository.gitDir, "update-ref", "refs/keep/main", first);
    expect((await repository.refListing())?.refs.map(({ name }) => name)).to.deep.equal([
      "refs/heads/main",
    ]);
    await git(repository.gitDir, "pack-refs", "--all", "--prune");
    await expectSame();
  });

  it("is left to git when packed refs do not say what tags lead to, or are very many", async () => {
    await push("main", "v1");
    await git(repository.gitDir, "pack-refs", "--all", "--prune");
    const file = path.join(repository.gitDir, "packed-refs");
    const packed = await readFile(file, "utf8");
    await writeFile(file, packed.replace(" fully-peeled", ""));
    expect(await repository.refListing()).to.equal(undefined);
    const line = `${first} refs/tags/${"x".repeat(200)}`;
    const many = Array.from({ length: 2_000 }, (_, index) => `${line}${index}\n`);
    await writeFile(file, packed + many.join(""));
    expect(await repository.refListing()).to.equal(undefined);
  });
});

describe("a request for refs", () => {
  const known = request("peel", "ref-prefix refs/heads/").toString();

  it("is understood as git's clients write it", () => {
    expect(wants(Buffer.from(known))).to.deep.equal({
      peel: true,
      symrefs: false,
      unborn: false,
      prefixes: ["refs/heads/"],
    });
  });

  it("with more prefixes than a fetch has is left to git", () => {
    const prefixes = Array.from({ length: 65 }, (_, at) => `ref-prefix refs/heads/${at}`);
    expect(wants(request(...prefixes.slice(1)))?.prefixes).to.have.lengthOf(64);
    expect(wants(request(...prefixes))).to.equal(undefined);
  });

  for (const [what, body] of [
    ["another command", known.replace("ls-refs", "fetch  ")],
    ["an argument that is not known", known.replace("peel", "leep")],
    ["a capability that is not known", known.replace("agent=", "wagon=")],
    ["another format of objects", known.replace("sha1", "sha2")],
    ["a second request behind it", known + known],
    ["a length that is none", known.replace("0014", "001x")],
    ["an end that is missing", known.slice(0, -4)],
    ["a cut within", known.slice(0, -7)],
    ["nothing", ""],
    ["an end only", "0000"],
  ] as const) {
    it(`with ${what} is left to git`, () => {
      expect(wants(Buffer.from(body))).to.equal(undefined);
    });
  }
});
