import { mkdir, rm } from "node:fs/promises";
import path from "node:path";
import { expect } from "chai";

import { GitFailure } from "../../../src/git/failure.ts";
import { countPushedExtensions } from "../../../src/git/push/extension.ts";
import { commit, git, temporaryDirectory, workingCopy } from "../../support/git/git.ts";

const parent = await temporaryDirectory();
const never = new AbortController().signal;
let copy: string;
let count = 0;

beforeEach(async () => {
  count += 1;
  copy = await workingCopy(parent, `copy-${count}`);
});

async function counted(tips: readonly string[], except: readonly string[] = [], beside = []) {
  const history = { tips: new Set(tips), except: new Set(except), beside };
  const found = await countPushedExtensions(path.join(copy, ".git"), history, never);
  return {
    commits: found.commits,
    extensions: Object.fromEntries(found.extensions),
    tips: [...found.tips],
    followed: [...found.followed],
  };
}

describe("the extensions of new commits", () => {
  it("count once a commit, however many files have them", async () => {
    const first = await commit(copy, "First", { "a.ts": "a", "b/c.ts": "b", "d.md": "d" });
    const second = await commit(copy, "Second", { "a.ts": "A" });

    expect(await counted([second])).to.deep.equal({
      commits: 2,
      extensions: { ts: 2, md: 1 },
      tips: [second],
      followed: [],
    });
    expect(await counted([second], [first])).to.deep.equal({
      commits: 1,
      extensions: { ts: 1 },
      tips: [second],
      followed: [first],
    });
  });

  it("are what follows the last dot, in lower case, and empty for names of no such form", async () => {
    const tip = await commit(copy, "Names", {
      "a.tar.GZ": "",
      ".gitignore": "",
      Makefile: "",
      "x.c++": "",
      "a b/\u0001c.d e": "",
      "\u0001deadbeef 00.rs": "",
      "new\nline.py": "",
      "ü.ß": "",
      "dir.d/none": "",
      "long.abcdefghijklmnopqrstuvwxyz": "",
    });
    expect((await counted([tip])).extensions).to.deep.equal({
      gz: 1,
      "c++": 1,
      rs: 1,
      py: 1,
      "": 1,
    });
  });

  it("of deleted files do not count, and a renamed file counts under its new name", async () => {
    const first = await commit(copy, "First", { "a.txt": "same\n", "b.log": "b" });
    await git(copy, "mv", "a.txt", "a.rst");
    await rm(path.join(copy, "b.log"));
    const second = await commit(copy, "Second");
    expect((await counted([second], [first])).extensions).to.deep.equal({ rst: 1 });
  });

  it("of a merge are those of files that differ from all its parents", async () => {
    await commit(copy, "Base", { "a.ts": "1\n", "b.md": "1\n" });
    await git(copy, "checkout", "--quiet", "-b", "side");
    await commit(copy, "Side", { "side.py": "1\n", "a.ts": "2\n" });
    await git(copy, "checkout", "--quiet", "main");
    const main = await commit(copy, "Main", { "main.go": "1\n" });
    await git(copy, "merge", "--quiet", "--no-ff", "-m", "Merge", "side");
    const merge = await git(copy, "rev-parse", "HEAD");

    const side = await git(copy, "rev-parse", "side");
    expect(await counted([merge], [main, side])).to.deep.equal({
      commits: 1,
      extensions: {},
      tips: [merge],
      followed: [main, side],
    });
    await git(copy, "reset", "--quiet", "--hard", main);
    await git(copy, "merge", "--quiet", "--no-ff", "--no-commit", "side");
    const evil = await commit(copy, "Evil", { "a.ts": "3\n", "new.sh": "1\n" });
    expect((await counted([evil], [main, side])).extensions).to.deep.equal({ ts: 1, sh: 1 });
  });

  it("name the new tips that no other contains, and no tip that brings nothing", async () => {
    const first = await commit(copy, "First", { "a.ts": "1" });
    const second = await commit(copy, "Second", { "a.ts": "2" });
    const third = await commit(copy, "Third", { "a.ts": "3" });
    expect((await counted([third, second, first], [first])).tips).to.deep.equal([third]);
    expect(await counted([first], [third])).to.deep.equal({
      commits: 0,
      extensions: {},
      tips: [],
      followed: [],
    });
  });

  it("leave out what a repository beside it knows, also when this one does not", async () => {
    const first = await commit(copy, "First", { "a.ts": "1" });
    const fork = `${copy}-fork`;
    await git(parent, "clone", "--quiet", copy, fork);
    const ahead = await commit(copy, "Ahead", { "b.md": "1" });
    const own = await commit(fork, "Own", { "c.go": "1" });

    const history = { tips: new Set([own]), except: new Set([ahead]) };
    const at = path.join(fork, ".git");
    const alone = await countPushedExtensions(at, { ...history, beside: [] }, never);
    expect([...alone.extensions.keys()].sort()).to.deep.equal(["go", "ts"]);
    const beside = [path.join(copy, ".git")];
    const both = await countPushedExtensions(at, { ...history, beside }, never);
    expect([...both.extensions.keys()]).to.deep.equal(["go"]);
    expect(first).to.match(/^[0-9a-f]{40}$/);
  });

  it("are of a thousand kinds at most", async () => {
    await mkdir(path.join(copy, "many"));
    const files = Object.fromEntries(
      Array.from({ length: 1_100 }, (_, index) => [`many/a.x${index}`, ""]),
    );
    const tip = await commit(copy, "Many", files);
    expect(Object.keys((await counted([tip])).extensions)).to.have.length(1_000);
  });

  it("fail with git's error, and stop on abort", async () => {
    const history = { tips: new Set(["HEAD~400"]), except: new Set<string>(), beside: [] };
    const nowhere = path.join(parent, "nowhere");
    await expect(countPushedExtensions(nowhere, history, never)).to.be.rejectedWith(GitFailure);
    const tip = await commit(copy, "First", { "a.ts": "1" });
    const aborted = AbortSignal.abort();
    const stopped = countPushedExtensions(
      path.join(copy, ".git"),
      { ...history, tips: new Set([tip]) },
      aborted,
    );
    await expect(stopped).to.be.rejected.and.eventually.have.property("name", "AbortError");
  });
});
