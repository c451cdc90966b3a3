import { randomUUID } from "node:crypto";
import { access, chmod, mkdir, rename, rm, symlink, unlink, writeFile } from "node:fs/promises";
import path from "node:path";
import { expect } from "chai";

import {
  attempt,
  changedFiles,
  changedLines,
  changedLinesIn,
  counting,
  type FileChange,
} from "../../../src/git/diff/diff.ts";
import type { PatchLine } from "../../../src/git/diff/patch.ts";
import { lineBytesMax, windowOf } from "../../../src/git/diff/window.ts";
import { openGit } from "../../../src/git/repositories.ts";
import type { Repository } from "../../../src/git/repository.ts";
import { randomNumbers } from "../../support/app/random.ts";
import { commit, git, temporaryDirectory, workingCopy } from "../../support/git/git.ts";

const dataDir = await temporaryDirectory();
const repositories = openGit({ dataDir, log: { warn: () => undefined } });
after(() => repositories.close());

type Case = Readonly<{ repository: Repository; copy: string }>;

async function newCase(name: string): Promise<Case> {
  const repository = await repositories.ensure(randomUUID(), "main");
  return { repository, copy: await workingCopy(dataDir, name) };
}

async function treeOf(copy: string, revision: string): Promise<string> {
  return git(copy, "rev-parse", `${revision}^{tree}`);
}

/** What the last commit changed. */
async function lastChanges({ repository, copy }: Case): Promise<readonly FileChange[]> {
  await git(copy, "push", "--quiet", "--force", repository.gitDir, "HEAD:refs/heads/main");
  const isRoot = (await git(copy, "rev-list", "--count", "HEAD")) === "1";
  const before = isRoot ? undefined : await treeOf(copy, "HEAD~");
  return changedFiles(repository, before, await treeOf(copy, "HEAD"));
}

const named = (changes: readonly FileChange[], name: string): FileChange =>
  changes.find(({ newPath }) => newPath === name)!;

describe("the changed files of two trees", () => {
  let odd: Case;
  let changes: readonly FileChange[];
  const long = Array.from({ length: 40 }, (_, index) => `line ${index}\n`).join("");

  before(async () => {
    odd = await newCase("odd");
    const { copy } = odd;
    await commit(copy, "Before", {
      "moved/from.txt": long,
      "moved/pure.txt": `pure\n${long}`,
      "source.txt": `source\n${long}`,
      "mode.sh": "#!/bin/sh\n",
      "gone.txt": "gone\nfor good\n",
      "becomes-link": "text\n",
      "no-newline": "a\nb",
      "crlf.txt": "a\r\nb\r\n",
      "latin.txt": Buffer.from("caf\xe9\n", "latin1"),
      "binary.bin": Buffer.from([0, 1, 2]),
      'qu"ote\nnew\tline.txt': "odd name\n",
      "юникод 名.md": "one\n",
      "-rf": "dash\n",
    });
    await symlink("source.txt", path.join(copy, "link"));
    await commit(copy, "Link");
    await rename(path.join(copy, "moved/from.txt"), path.join(copy, "moved/to.txt"));
    await rename(path.join(copy, "moved/pure.txt"), path.join(copy, "moved/pure2.txt"));
    await writeFile(path.join(copy, "moved/to.txt"), `${long}more\n`);
    await writeFile(path.join(copy, "source.txt"), `source!\n${long}`);
    await writeFile(path.join(copy, "copied.txt"), `source\n${long}copy\n`);
    await chmod(path.join(copy, "mode.sh"), 0o755);
    await rm(path.join(copy, "gone.txt"));
    await rm(path.join(copy, "becomes-link"));
    await symlink("source.txt", path.join(copy, "becomes-link"));
    await unlink(path.join(copy, "link"));
    await symlink("mode.sh", path.join(copy, "link"));
    await mkdir(path.join(copy, "module"));
    await git(copy, "update-index", "--add", "--cacheinfo", `160000,${"1".repeat(40)},module`);
    await commit(copy, "After", {
      "no-newline": "a\nc",
      "crlf.txt": "a\nb\r\n",
      "latin.txt": Buffer.from("caf\xe9\n\xe8\n", "latin1"),
      "binary.bin": Buffer.from([0, 1, 3]),
      'qu"ote\nnew\tline.txt': "odd name\nagain\n",
      "юникод 名.md": "one\ntwo\n",
      "-rf": "dash\ndash\n",
      "added.txt": "added\n",
      "added.bin": Buffer.from([0, 10, 0]),
      empty: "",
    });
    changes = await lastChanges(odd);
  });

  it("are the files, counts and kinds of change that git reports", async () => {
    const args = ["-r", "-M", "-C", "HEAD~", "HEAD"];
    const counts = await git(
      odd.copy,
      "-c",
      "core.quotePath=false",
      "diff-tree",
      "--numstat",
      ...args,
    );
    const ours = changes.map(({ isBinary, addedLines, removedLines }) =>
      isBinary ? "-\t-" : `${addedLines}\t${removedLines}`,
    );
    const lines = counts.split("\n");
    expect(ours).to.deep.equal(lines.map((line) => line.split("\t").slice(0, 2).join("\t")));
    const kinds = await git(odd.copy, "diff-tree", "--name-status", ...args);
    expect(changes.map(({ status }) => status)).to.deep.equal(
      kinds.split("\n").map((line) => line.charAt(0)),
    );
  });

  it("have odd names as they are", () => {
    const names = changes.map(({ newPath }) => newPath);
    expect(names).to.include.members(['qu"ote\nnew\tline.txt', "юникод 名.md", "-rf"]);
    expect(named(changes, "юникод 名.md").headers[0]).to.equal(
      "diff --git a/юникод 名.md b/юникод 名.md",
    );
    expect(named(changes, 'qu"ote\nnew\tline.txt').headers[0]).to.equal(
      'diff --git "a/qu\\"ote\\nnew\\tline.txt" "b/qu\\"ote\\nnew\\tline.txt"',
    );
  });

  it("have renames and copies with where they came from", async () => {
    expect(named(changes, "moved/to.txt")).to.deep.include({
      status: "R",
      oldPath: "moved/from.txt",
      addedLines: 1,
      removedLines: 0,
    });
    expect(named(changes, "moved/pure2.txt")).to.deep.include({ status: "R", addedLines: 0 });
    expect(named(changes, "copied.txt")).to.deep.include({ status: "C", oldPath: "source.txt" });
    expect(await changedLines(odd.repository, named(changes, "moved/pure2.txt"))).to.deep.equal([]);
  });

  it("have modes, and changes of nothing but the mode", async () => {
    const mode = named(changes, "mode.sh");
    expect(mode).to.deep.include({ oldMode: "100644", newMode: "100755", status: "M" });
    expect(mode.headers).to.deep.equal([
      "diff --git a/mode.sh b/mode.sh",
      "old mode 100644",
      "new mode 100755",
    ]);
    expect(await changedLines(odd.repository, mode)).to.deep.equal([]);
    expect(named(changes, "added.txt")).to.deep.include({ oldMode: "000000", newMode: "100644" });
  });

  it("show a link as the text it holds, and a submodule as the commit it names", async () => {
    const texts = async (name: string) =>
      (await changedLines(odd.repository, named(changes, name))).map(({ op, body }) => [op, body]);

    expect(named(changes, "becomes-link")).to.deep.include({ status: "T", newMode: "120000" });
    expect(await texts("becomes-link")).to.deep.equal([
      ["remove", "text"],
      ["add", "source.txt"],
      ["none", "\\ No newline at end of file"],
    ]);
    expect((await texts("link")).map(([op]) => op)).to.deep.equal([
      "remove",
      "none",
      "add",
      "none",
    ]);
    expect(named(changes, "module")).to.deep.include({ newMode: "160000", addedLines: 1 });
    expect(await texts("module")).to.deep.equal([["add", `Subproject commit ${"1".repeat(40)}`]]);
  });

  it("have the lines that git prints", async () => {
    for (const change of changes) {
      const { newPath, oldPath, headers } = change;
      const paths = [...new Set([oldPath, newPath])];
      const args = ["-r", "-p", "-M", "-C", "--full-index", "HEAD~", "HEAD", "--", ...paths];
      if (change.status === "C") continue;
      const printed = await git(odd.copy, "-c", "core.quotePath=false", "diff-tree", ...args);
      const ours = (await changedLines(odd.repository, change)).map(({ type, op, body, added }) => {
        if (type === "separator" || (op === "none" && added === null)) return body;
        return { add: "+", remove: "-", none: " " }[op] + body;
      });
      const texts = printed.split("\n").map((line) => Buffer.from(line).toString());
      expect(texts, newPath).to.include.members(headers.map((header) => header));
      // Those have a test of their own: the output was read as UTF-8, without the space at its end.
      if (newPath === "latin.txt" || newPath === "crlf.txt") continue;
      const hunks = texts.filter((line) => /^[ +\\-]/.test(line) && !/^(?:\+\+\+|---) /.test(line));
      expect(
        ours.filter((line) => !line.startsWith("@@")),
        newPath,
      ).to.deep.equal(hunks);
    }
  });

  it("are the same but for the patch when they are only counted", async () => {
    const [before, after] = await Promise.all(["HEAD~", "HEAD"].map((at) => treeOf(odd.copy, at)));
    const fresh = await repositories.ensure(randomUUID(), "main");
    await git(odd.copy, "push", "--quiet", fresh.gitDir, "HEAD:refs/heads/main");
    const counted = await attempt(fresh, before!, after!, counting);
    const plain = (all: readonly FileChange[]) =>
      all.map(({ bytes: _, headers, ...rest }) => ({
        ...rest,
        headers: headers.filter((line) => !/^(?:--- |\+\+\+ |Binary)/.test(line)),
      }));
    const sameType = ({ status }: FileChange): boolean => status !== "T";
    expect(plain(counted!.filter(sameType))).to.deep.equal(plain(changes.filter(sameType)));
    const link = counted!.find(({ status }) => status === "T");
    expect(link).to.deep.include({ addedLines: 1, removedLines: 1, newPath: "becomes-link" });
  });

  it("keep what is not UTF-8, and every carriage return", async () => {
    const latin = await changedLines(odd.repository, named(changes, "latin.txt"));
    expect(latin.map(({ body }) => body)).to.deep.equal(["café", "è"]);
    const crlf = await changedLines(odd.repository, named(changes, "crlf.txt"));
    expect(crlf.map(({ op, body }) => [op, body])).to.deep.equal([
      ["remove", "a\r"],
      ["add", "a"],
      ["none", "b\r"],
    ]);
  });

  it("have no lines of binary files", async () => {
    const newBinary = named(changes, "added.bin");
    expect(newBinary).to.deep.include({ isBinary: true, status: "A" });
    expect(await changedLines(odd.repository, newBinary)).to.deep.equal([]);
    const binary = named(changes, "binary.bin");
    expect(binary).to.deep.include({ isBinary: true, isLarge: false, isCollapsed: false });
    expect(await changedLines(odd.repository, binary)).to.deep.equal([]);
  });

  it("are all files when there was nothing before", async () => {
    const one = await newCase("root");
    await commit(one.copy, "Root", { "a.txt": "a\n", "b/c.txt": "c" });
    const all = await lastChanges(one);
    expect(all.map(({ status, newPath }) => [status, newPath])).to.deep.equal([
      ["A", "a.txt"],
      ["A", "b/c.txt"],
    ]);
    expect(await changedLines(one.repository, all[1]!)).to.have.lengthOf(2);
  });

  it("are made by git alone, whatever programs settings and attributes name", async () => {
    const { repository, copy } = await newCase("driven");
    const { gitDir } = repository;
    const witness = path.join(dataDir, "driver");
    const ran = `${witness}-ran`;
    await writeFile(witness, `#!/bin/sh\ntouch ${ran}\n`);
    await chmod(witness, 0o755);
    for (const setting of ["diff.external", "diff.driven.command", "diff.driven.textconv"]) {
      await git(copy, `--git-dir=${gitDir}`, "config", setting, witness);
    }
    await mkdir(path.join(gitDir, "info"), { recursive: true });
    await writeFile(path.join(gitDir, "info/attributes"), "driven.* diff=driven\n");
    await commit(copy, "One", { "driven.txt": "one\n", "plain.txt": "one\n" });
    await commit(copy, "Two", { "driven.txt": "two\n", "plain.txt": "two\n" });
    const changed = await lastChanges({ repository, copy });
    for (const change of changed) {
      const lines = await changedLines(repository, change);
      expect(lines.map(({ body }) => body)).to.deep.equal(["one", "two"]);
    }
    await expect(access(ran)).to.be.rejectedWith("ENOENT");
  });

  it("are none of a tree and itself", async () => {
    const tree = await treeOf(odd.copy, "HEAD");
    expect(await changedFiles(odd.repository, tree, tree)).to.deep.equal([]);
  });
});

describe("a change of many lines", () => {
  it("is collapsed, then too large to be shown, and counted all the same", async () => {
    const many = await newCase("many");
    await commit(many.copy, "Many", {
      "some.txt": "a\n".repeat(1_000),
      "collapsed.txt": "a\n".repeat(1_001),
      "shown.txt": "a\n".repeat(20_000),
      "broad.txt": `${"x".repeat(100 * 1024)}\n`,
      "large.txt": "a\n".repeat(20_001),
      "wide.txt": `${"x".repeat(2 * 1024 ** 2)}\n`,
      "million.txt": "a line of twenty chars\n".repeat(1_000_000),
    });
    const changes = await lastChanges(many);
    expect(
      changes.map(({ newPath, addedLines, isCollapsed, isLarge }) =>
        [newPath, addedLines, isCollapsed, isLarge].join(" "),
      ),
    ).to.deep.equal([
      "broad.txt 1 true false",
      "collapsed.txt 1001 true false",
      "large.txt 20001 true true",
      "million.txt 1000000 true true",
      "shown.txt 20000 true false",
      "some.txt 1000 false false",
      "wide.txt 1 true true",
    ]);
    expect(await changedLines(many.repository, named(changes, "shown.txt"))).to.have.lengthOf(
      20_000,
    );
    expect(await changedLines(many.repository, named(changes, "million.txt"))).to.deep.equal([]);
    const last = { offset: 999_999, limit: 3_000 };
    const window = await changedLinesIn(many.repository, named(changes, "million.txt"), last);
    expect(window.total).to.equal(1_000_000);
    expect(window.before).to.deep.equal({ removed: 0, added: 999_999 });
    const body = "a line of twenty chars";
    expect(window.lines).to.deep.equal([
      { type: "line", op: "add", body, added: 1_000_000, removed: null },
    ]);
    const wide = named(changes, "wide.txt");
    const { lines } = await changedLinesIn(many.repository, wide, { offset: 0, limit: 1 });
    expect(lines[0]?.body).to.equal("x".repeat(lineBytesMax));
  });

  it("is read in parts that make up what git prints, whatever was edited", async () => {
    const large = await newCase("parts");
    const random = randomNumbers(11);
    const rows = Array.from({ length: 30_000 }, (_, index) => `row ${index} ähm`);
    await commit(large.copy, "Before", { "a.txt": rows.join("\n"), "gone.txt": rows.join("\n") });
    const after = rows.flatMap((row) => (random(3) > 0 ? [`${row}!`] : random(9) > 0 ? [row] : []));
    const text = `${after.slice(0, 9_000).join("\n")}\n${rows.slice(9_000).join("\n")}\n`;
    await git(large.copy, "rm", "--quiet", "gone.txt");
    await commit(large.copy, "After", { "a.txt": `${text}${after.join("\n")}\n` });
    const changes = await lastChanges(large);
    for (const path of ["a.txt", "gone.txt"]) {
      const change = changes.find(({ oldPath }) => oldPath === path)!;
      expect(change.isLarge).to.equal(true);
      const whole = await changedLines(large.repository, { ...change, isLarge: false });
      const limit = 7_001;
      const parts: PatchLine[] = [];
      for (let offset = 0; offset < whole.length; offset += limit) {
        const part = await changedLinesIn(large.repository, change, { offset, limit });
        expect(part.total).to.equal(whole.length);
        expect(part).to.deep.equal(windowOf(whole, { offset, limit }));
        parts.push(...part.lines);
      }
      expect(parts).to.deep.equal(whole);
    }
  }).timeout(120_000);

  it("is large when git does not look into the file, text or not", async () => {
    const huge = await newCase("huge");
    const bytes = 65 * 1024 ** 2;
    await commit(huge.copy, "Huge", {
      "huge.txt": Buffer.alloc(bytes, "a line\n"),
      "huge.bin": Buffer.alloc(bytes),
    });
    const changes = await lastChanges(huge);
    expect(named(changes, "huge.txt")).to.deep.include({ isLarge: true, isBinary: false });
    expect(named(changes, "huge.bin")).to.deep.include({ isLarge: true, isBinary: true });
    for (const change of changes) {
      const { total } = await changedLinesIn(huge.repository, change, { offset: 0, limit: 9 });
      expect(total).to.equal(0);
    }
  });
});

describe("any two trees", () => {
  it("have the changes that git counts, whatever was edited", async () => {
    const random = randomNumbers(7);
    const some = await newCase("some");
    const words = ["a\n", "b\n", "+\n", "-- \n", "@@\n", "diff --git a b\n", "\n", "c"];
    const text = () => Array.from({ length: random(30) }, () => words[random(8)]).join("");
    await commit(some.copy, "0", { "0/a": text() });
    for (let round = 1; round < 25; round += 1) {
      const files = Array.from({ length: 1 + random(4) }, () => [
        `${random(3)}/${random(5)}`,
        text(),
      ]);
      await commit(some.copy, String(round), Object.fromEntries(files));
      const counted = await git(
        some.copy,
        "diff-tree",
        "-r",
        "-M",
        "-C",
        "--numstat",
        "HEAD~",
        "HEAD",
      );
      const ours = (await lastChanges(some)).map(
        ({ addedLines, removedLines }) => `${addedLines}\t${removedLines}`,
      );
      const theirs = counted.split("\n").filter(Boolean);
      expect(ours).to.deep.equal(theirs.map((line) => line.split("\t").slice(0, 2).join("\t")));
    }
  });
});
