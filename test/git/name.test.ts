import { expect } from "chai";

import {
  BranchName,
  isObjectId,
  isRefName,
  isWritablePath,
  repositoryPath,
  TagName,
} from "../../src/git/name.ts";
import { Refusal } from "../../src/platform/refusal.ts";
import { temporaryDirectory, tryGit } from "../support/git/git.ts";

const good = ["main", "release/1.0", "feature/über", "a@b", "1", "x.y", "a-b", "日本"];
const bad = [
  ...["", "-x", "--output=x", "a..b", "a b", "a~1", "a^", "a:b", "a?b", "a*b", "a[b", "a\\b"],
  ...["a\nb", "a\0b", "a\x7fb", ".a", "a/.b", "a.lock", "a.lock/b", "a/", "/a", "a//b", "a."],
  ...["a@{1}", "x".repeat(300)],
];

describe("names of refs", () => {
  for (const name of good) {
    it(`takes ${JSON.stringify(name)}`, () => {
      expect(BranchName.safeParse(name).success).to.equal(true);
      expect(TagName.safeParse(name).success).to.equal(true);
    });
  }

  for (const name of bad) {
    it(`refuses ${JSON.stringify(name.slice(0, 20))}`, () => {
      expect(BranchName.safeParse(name).success).to.equal(false);
      expect(TagName.safeParse(name).success).to.equal(false);
    });
  }

  it("agrees with git on every one that git can check", async () => {
    const directory = await temporaryDirectory();
    for (const name of [...good, ...bad]) {
      // Length is our own limit, and NUL cannot be an argument.
      if (name.includes("\0") || name.length > 200 || name === "") continue;
      const { exitCode } = await tryGit(directory, ["check-ref-format", "--branch", name]);
      expect(isRefName(`refs/heads/${name}`), name).to.equal(exitCode === 0);
    }
  });

  it("refuses a branch or tag that would hide HEAD, and refs that are not the callers'", () => {
    expect(BranchName.safeParse("HEAD").success).to.equal(false);
    expect(TagName.safeParse("HEAD").success).to.equal(false);
    for (const ref of ["HEAD", "refs/heads", "refs/notes/", "refs/heads/", "refs/replace/x"]) {
      expect(isRefName(ref), ref).to.equal(false);
    }
  });
});

describe("the id of an object", () => {
  it("is a whole one of either hash: a shorter one may mean something else tomorrow", () => {
    for (const length of [40, 64]) expect(isObjectId("a".repeat(length))).to.equal(true);
    for (const length of [0, 7, 39, 41, 63, 65]) {
      expect(isObjectId("a".repeat(length)), `${length}`).to.equal(false);
    }
    for (const wrong of ["A".repeat(40), `${"a".repeat(40)}\n`, `-${"a".repeat(39)}`]) {
      expect(isObjectId(wrong), wrong).to.equal(false);
    }
  });
});

describe("a path that a file is written to", () => {
  it("is one that every file system can hold, as it is", () => {
    const deep = `${"d/".repeat(2_047)}xx`;
    for (const path of ["a", "a b/ü.ts", ".gitignore", "-rf", "a\\b", "x".repeat(255), deep]) {
      expect(isWritablePath(path), path.slice(0, 20)).to.equal(true);
    }
    for (const path of [
      ...["", "/a", "a/", "a//b", "a/../b", "a\0b", ".git/config", "a/.GIT"],
      ...["a\\.git", "..\\a", ".git\\hooks", "a\\git~1\\b"],
      ...["half a letter \ud83d", "x".repeat(256), "ü".repeat(128), `${deep}x`],
    ]) {
      expect(isWritablePath(path), JSON.stringify(path.slice(0, 20))).to.equal(false);
    }
  });
});

describe("paths inside a repository", () => {
  it("are split at slashes, the ones around them ignored", () => {
    expect(repositoryPath("src/a b/ü.ts")).to.deep.equal(["src", "a b", "ü.ts"]);
    expect(repositoryPath("/src/")).to.deep.equal(["src"]);
    expect(repositoryPath("")).to.deep.equal([]);
    expect(repositoryPath(".gitignore")).to.deep.equal([".gitignore"]);
    expect(repositoryPath("-rf")).to.deep.equal(["-rf"]);
  });

  const hostile = [
    ...["..", "../x", "a/../b", "a/./b", "a//b", "a\0b", ".git", ".git/config", "a/.GIT/config"],
    ...["git~1", "GIT~1/config", ".git.", ".git ", ".git::$INDEX_ALLOCATION", ".git:x"],
    ...[".g\u200cit", ".\ufeffgit/config", "x".repeat(5000)],
  ];
  for (const path of hostile) {
    it(`answers ${JSON.stringify(path.slice(0, 30))} like a file that is not there`, () => {
      expect(() => repositoryPath(path))
        .to.throw(Refusal)
        .with.property("code", "blob.not_found");
    });
  }
});
