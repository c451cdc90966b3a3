import { chmod, rename, rm, symlink, writeFile } from "node:fs/promises";
import path from "node:path";
import { expect } from "chai";
import { startGitApp, type TestProject, type TestUser } from "../../../support/app/git-app.ts";
import { commit, git, temporaryDirectory, workingCopy } from "../../../support/git/git.ts";

/** Names and contents that a repository may hold and that break what is built carelessly. */
const app = await startGitApp();
const parent = await temporaryDirectory();
let anna: TestUser;
let project: TestProject;
let root: string;
let second: string;
let octopus: string;

const names = [
  ...[
    "new\nline.txt",
    'quo"te.txt',
    "Кириллица.txt",
    "😀 emoji.txt",
    "-dash.txt",
    "back\\slash.txt",
  ],
  ...["100%.txt", "a;b=c.txt", "tab\t.txt", "semi'quote.txt", "deep/sp ace/ü.txt"],
];
const lines = (change: string, word = "line") =>
  Array.from({ length: 30 }, (_, index) => (index === 5 ? change : `${word} ${index}\n`)).join("");
const utf16 = (text: string) => Buffer.from(`\ufeff${text}`, "utf16le");

/** Puts a submodule into the commit that was just made; `git add` would take it away again. */
async function withSubmodule(copy: string, id: string): Promise<string> {
  await git(copy, "update-index", "--add", "--cacheinfo", `160000,${id.repeat(40)},sub`);
  await git(copy, "commit", "--quiet", "--amend", "--no-edit");
  return git(copy, "rev-parse", "HEAD");
}

before(async () => {
  anna = await app.user("anna");
  project = await app.project(anna, "project");
  const copy = await workingCopy(parent, "copy");
  const file = (name: string) => path.join(copy, name);
  await symlink("../../etc/passwd", file("link"));
  await commit(copy, "Root", {
    ...Object.fromEntries(names.map((name) => [name, `first ${name}\n`])),
    ...{ "mode.sh": "true\n", "to-text": Buffer.from([0, 1]), "to-binary": "text\n" },
    ...{ "crlf.txt": "a\r\nb\r\n", "unended.txt": "one\ntwo", "renamed.txt": lines("old\n") },
    ...{ "copied.txt": lines("old\n", "word"), "utf16.txt": utf16("one\n") },
    "latin.txt": Buffer.from("caf\xe9\n", "latin1"),
  });
  root = await withSubmodule(copy, "1");
  await chmod(file("mode.sh"), 0o755);
  await rename(file("renamed.txt"), file("new name.txt"));
  await rm(file("link"));
  await writeFile(file("link"), "a file\n");
  await commit(copy, "-m is no option", {
    ...Object.fromEntries(names.map((name) => [name, `second ${name}\n`])),
    ...{ "to-text": "text\n", "to-binary": Buffer.from([0, 1]), "crlf.txt": "a\r\nB\r\n" },
    ...{
      "unended.txt": "one\nTwo",
      "new name.txt": lines("new\n"),
      "copy.txt": lines("old\n", "word"),
    },
    ...{ "copied.txt": lines("other\n", "word"), "utf16.txt": utf16("two\n") },
    "latin.txt": Buffer.from("caf\xe8\n", "latin1"),
  });
  second = await withSubmodule(copy, "2");
  for (const name of ["x", "y"]) {
    await git(copy, "checkout", "--quiet", "-b", name, root);
    await commit(copy, name, { [`${name}.txt`]: name });
  }
  await git(copy, "checkout", "--quiet", "main");
  await git(copy, "merge", "--quiet", "-m", "-m octopus", "x", "y");
  octopus = await git(copy, "rev-parse", "HEAD");
  await git(copy, "push", "--quiet", app.remote(project, anna), "--all");
});

const get = (rest: string) => app.get(project.path + rest, anna.token);
const at = (hash: string, file: string) => `commitHash=${hash}&file=${encodeURIComponent(file)}`;

type Line = Readonly<Record<"op" | "body", string> & { addLineNumber: number | null }>;
type Changed = Readonly<Record<string, unknown>> & Readonly<{ lines: readonly Line[] }>;
async function change(file: string): Promise<Changed> {
  const answer = await get(`/commit/${second}/diff?filePath=${encodeURIComponent(file)}`);
  expect(answer.status, file).to.equal(200);
  return (await answer.json()) as Changed;
}
const shown = ({ lines }: Changed) => lines.map(({ op, body }) => `${op} ${body}`);

describe("a file with an odd name", () => {
  for (const name of names) {
    it(`${JSON.stringify(name)} is read, downloaded, compared and found in the history`, async () => {
      expect(await (await get(`/blob?${at(root, name)}`)).text()).to.equal(`first ${name}\n`);
      const download = await get(`/blob/download?${at(root, name)}`);
      expect(await download.text()).to.equal(`first ${name}\n`);
      const disposition = download.headers.get("content-disposition") ?? "";
      const exact = /^attachment; filename="[\x20-\x7e]*"; filename\*=UTF-8''(\S+)$/.exec(
        disposition,
      );
      expect(decodeURIComponent(exact?.[1] ?? "")).to.equal(name.split("/").at(-1));
      const { filePath, oldPath, newPath, changeType, lines: changed } = await change(name);
      expect([filePath, oldPath, newPath, changeType]).to.deep.equal([name, name, name, "MODIFY"]);
      const bodies = [...`first ${name}`.split("\n"), ...`second ${name}`.split("\n")];
      const bodiesSent = changed.filter(({ op }) => op !== "none").map(({ body }) => body);
      expect(bodiesSent.every((body) => bodies.includes(body))).to.equal(true);
      const query = `filePath=${encodeURIComponent(name)}`;
      const last = (await (await get(`/commit/${octopus}/for-file?${query}`)).json()) as Changed;
      expect(last["hash"]).to.equal(second);
      const list = await get(`/commits?path=${encodeURIComponent(name)}`);
      const { page } = (await list.json()) as { page: { totalElements: number } };
      expect(page.totalElements).to.equal(2);
    });
  }

  it("is listed as it is", async () => {
    const answer = await get(`/blob/recursive?commitHash=${root}&depth=2`);
    const files = (await answer.json()) as readonly { filePath: string }[];
    expect(files.map(({ filePath }) => filePath)).to.include.members(names);
    expect(files.map(({ filePath }) => filePath))
      .to.include("link")
      .and.not.include("sub");
  });
});

describe("an odd change", () => {
  it("of a mode alone has headers and no lines", async () => {
    const file = await change("mode.sh");
    expect(file).to.include({ oldMode: "100644", newMode: "100755", changeType: "MODIFY" });
    expect(file.lines).to.deep.equal([]);
  });

  it("of what was renamed, or copied, and edited is shown against where it came from", async () => {
    const renamed = await change("new name.txt");
    expect(renamed).to.include({ oldPath: "renamed.txt", changeType: "RENAME" });
    expect(shown(renamed)).to.include.members(["remove old", "add new"]);
    const copied = await change("copy.txt");
    expect(copied).to.include({ oldPath: "copied.txt", changeType: "COPY" });
  });

  it("between text and binary has no lines, nor has UTF-16", async () => {
    for (const name of ["to-text", "to-binary", "utf16.txt"]) {
      expect(await change(name), name).to.deep.include({ isBinary: true, lines: [] });
    }
  });

  it("keeps carriage returns, bytes that are no UTF-8, and says where the end has no newline", async () => {
    expect(shown(await change("crlf.txt"))).to.deep.equal(["none a\r", "remove b\r", "add B\r"]);
    expect(shown(await change("latin.txt"))).to.deep.equal(["remove café", "add cafè"]);
    const mark = "none \\ No newline at end of file";
    const unended = ["none one", "remove two", mark, "add Two", mark];
    expect(shown(await change("unended.txt"))).to.deep.equal(unended);
  });

  it("of a link to a file, and of a submodule, follows nothing", async () => {
    const link = await change("link");
    expect(link).to.include({ oldMode: "120000", newMode: "100644" });
    expect(shown(link)).to.include.members(["remove ../../etc/passwd", "add a file"]);
    const [from, to] = shown(await change("sub"));
    expect(from).to.equal(`remove Subproject commit ${"1".repeat(40)}`);
    expect(to).to.equal(`add Subproject commit ${"2".repeat(40)}`);
    expect((await get(`/blob?${at(root, "sub")}`)).status).to.equal(404);
  });

  it("of a merge of three names all parents, and what the first did not have", async () => {
    const merge = (await (await get(`/commit/${octopus}`)).json()) as Changed;
    expect(merge["parentCommitIds"]).to.have.length(3);
    expect(merge["shortMessage"]).to.equal("-m octopus");
    expect(merge["parentCommitBranches"]).to.deep.equal(["x", "y"]);
    const files = (await (await get(`/commit/${octopus}/file`)).json()) as readonly Changed[];
    expect(files.map(({ newPath }) => newPath)).to.deep.equal(["x.txt", "y.txt"]);
  });
});
