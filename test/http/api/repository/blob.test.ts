import { randomBytes } from "node:crypto";
import { symlink } from "node:fs/promises";
import path from "node:path";
import { expect } from "chai";

import { eventually } from "../../../support/app/eventually.ts";
import { startGitApp, type TestProject, type TestUser } from "../../../support/app/git-app.ts";
import { commit, git, temporaryDirectory, workingCopy } from "../../../support/git/git.ts";

const app = await startGitApp();
const parent = await temporaryDirectory();
const png = Buffer.from("89504e470d0a1a0a0000000d49484452", "hex");
const large = randomBytes(3 * 1024 ** 2);
const pointer = `version https://git-lfs.github.com/spec/v1\noid sha256:${"a".repeat(64)}\nsize 12345\n`;
let anna: TestUser;
let project: TestProject;
let copy: string;
let head: string;

before(async () => {
  anna = await app.user("anna");
  project = await app.project(anna, "files");
  copy = await workingCopy(parent, "copy");
  await symlink("/etc/passwd", path.join(copy, "link"));
  await symlink("/etc", path.join(copy, "etc"));
  head = await commit(copy, "Files", {
    "README.md": "# Über\n",
    LICENSE: "text\n",
    ".gitignore": "x\n",
    "src/a b#?.ts": "a\n",
    "src/deep/er/file.tar.gz": "b\n",
    "logo.png": png,
    "disguised.txt": png,
    "binary.bin": Buffer.from("a\0b"),
    "latin.txt": Buffer.from([0x66, 0xfc, 0x72]),
    "large.bin": large,
    "huge.txt": Buffer.alloc(16 * 1024 ** 2, "text\n"),
    "model.lfs": pointer,
    "page.html": "<script>alert(1)</script>",
  });
  await git(copy, "push", "--quiet", app.remote(project, anna), "main");
});

const send = (
  kind: string,
  query: Record<string, string>,
  headers: Record<string, string> = {},
  token: string | undefined = anna.token,
) => app.get(`${project.path}/blob${kind}?${new URLSearchParams(query)}`, token, headers);

const text = (file: string, commitHash = head) => send("", { commitHash, file });

describe("GET …/blob", () => {
  it("answers a text as it is, for ever", async () => {
    const answer = await text("README.md");

    expect(await answer.text()).to.equal("# Über\n");
    expect(answer.headers.get("content-type")).to.equal("text/plain; charset=utf-8");
    expect(answer.headers.get("etag")).to.equal(
      `"${await git(copy, "rev-parse", "HEAD:README.md")}"`,
    );
    expect(answer.headers.get("cache-control")).to.match(/^private, .*immutable$/);
  });

  it("answers 304 to a caller who has it", async () => {
    const etag = (await text("README.md")).headers.get("etag") ?? "";
    const again = await send(
      "",
      { commitHash: head, file: "README.md" },
      { "if-none-match": etag },
    );
    expect(again.status).to.equal(304);
  });

  it("finds a file of any name", async () => {
    expect(await (await text("src/a b#?.ts")).text()).to.equal("a\n");
    expect(await (await text(".gitignore")).text()).to.equal("x\n");
  });

  it("does not follow a symbolic link, and shows what it holds", async () => {
    expect(await (await text("link")).text()).to.equal("/etc/passwd");
    expect((await text("etc/passwd")).status).to.equal(404);
  });

  it("says nothing of an encoding it does not know", async () => {
    const answer = await text("latin.txt");
    expect(answer.headers.get("content-type")).to.equal("text/plain");
    expect(Buffer.from(await answer.arrayBuffer())).to.deep.equal(Buffer.from([0x66, 0xfc, 0x72]));
  });

  for (const [file, code] of [
    ["logo.png", "blob.image"],
    ["disguised.txt", "blob.image"],
    ["binary.bin", "blob.binary"],
    ["huge.txt", "blob.too_large"],
    ["src", "blob.is_directory"],
  ] as const) {
    it(`refuses ${file} with 400 ${code}`, async () => {
      const answer = await text(file);
      expect(answer.status).to.equal(400);
      expect(await answer.json()).to.include({ code });
    });
  }

  for (const file of [
    ...["nothing", "README.md/x", "../README.md", "src/../README.md", ".git/config", ".GIT/HEAD"],
    ...["git~1/config", "/etc/passwd", "-p", "--output=x", "src//a", "HEAD", ":/", "*"],
  ]) {
    it(`answers 404 for ${file}`, async () => {
      expect((await text(file)).status).to.equal(404);
    });
  }

  for (const hash of [
    ...["0".repeat(40), "HEAD~1", "none", "-x", "--output=/tmp/x", "abc", "refs/heads/none"],
    ...["main:README.md", "..", "z".repeat(40), `${"0".repeat(40)}\ninfo HEAD`],
  ]) {
    it(`answers 404 for the commit ${JSON.stringify(hash.slice(0, 20))}`, async () => {
      const answer = await text("README.md", hash);
      expect(answer.status).to.equal(404);
      expect(await answer.json()).to.include({ code: "commit.not_found" });
    });
  }

  it("answers 404 for a tree or blob where a commit is expected", async () => {
    for (const name of ["HEAD^{tree}", "HEAD:README.md"]) {
      expect((await text("README.md", await git(copy, "rev-parse", name))).status).to.equal(404);
    }
  });

  it("refuses a NUL and missing values with 422", async () => {
    expect((await text("a\0b")).status).to.equal(422);
    expect((await send("", { commitHash: head })).status).to.equal(422);
    expect((await send("", { file: "README.md" })).status).to.equal(422);
  });

  it("is refused to strangers, and does not show one project's files through another", async () => {
    const bob = await app.user("bob");
    const query = { commitHash: head, file: "README.md" };
    expect((await send("", query, {}, bob.token)).status).to.equal(403);
    const other = await app.project(bob, "other");
    const unrelated = await workingCopy(parent, "unrelated");
    await commit(unrelated, "Unrelated");
    await git(unrelated, "push", "--quiet", app.remote(other, bob), "main");
    const foreign = await app.get(`${other.path}/blob?${new URLSearchParams(query)}`, bob.token);
    expect(foreign.status).to.equal(404);
  });
});

describe("GET …/blob/download", () => {
  const download = (file: string, headers: Record<string, string> = {}) =>
    send("/download", { commitHash: head, file }, headers);
  const bytes = async (answer: Response) => Buffer.from(await answer.arrayBuffer());

  it("gives any file, as an attachment that no browser runs", async () => {
    for (const [file, content] of [
      ["logo.png", png],
      ["large.bin", large],
      ["page.html", Buffer.from("<script>alert(1)</script>")],
    ] as const) {
      const answer = await download(file);
      expect((await bytes(answer)).equals(content), file).to.equal(true);
      expect(answer.headers.get("content-disposition")).to.match(/^attachment; filename="/);
      expect(answer.headers.get("x-content-type-options")).to.equal("nosniff");
      expect(answer.headers.get("content-security-policy")).to.contain("sandbox");
      expect(answer.headers.get("content-type")).not.to.contain("html");
      expect(answer.headers.get("content-length")).to.equal(String(content.length));
      expect(answer.headers.get("accept-ranges")).to.equal("bytes");
    }
  });

  for (const [file, content] of [
    ["logo.png", png],
    ["large.bin", large],
  ] as const) {
    it(`gives a part of ${file} that is requested by Range`, async () => {
      const end = content.length - 1;
      for (const [range, first, last] of [
        ["bytes=2-5", 2, 5],
        ["bytes=-4", end - 3, end],
        [`bytes=${end}-`, end, end],
      ] as const) {
        const answer = await download(file, { range });
        expect(answer.status).to.equal(206);
        expect(answer.headers.get("content-range")).to.equal(
          `bytes ${first}-${last}/${content.length}`,
        );
        expect((await bytes(answer)).equals(content.subarray(first, last + 1))).to.equal(true);
      }
      const beyond = await download(file, { range: `bytes=${content.length}-` });
      expect(beyond.status).to.equal(416);
      expect(beyond.headers.get("content-range")).to.equal(`bytes */${content.length}`);
    });
  }

  it("gives the whole when If-Range names something else", async () => {
    const headers = { range: "bytes=0-1", "if-range": '"other"' };
    expect((await download("logo.png", headers)).status).to.equal(200);
  });

  it("ends what it began for callers who only look, have it already, or go away", async () => {
    const url = `${app.url}${project.path}/blob/download?commitHash=${head}&file=large.bin`;
    const headers = { authorization: `token ${anna.token}` };
    const etag = (await fetch(url, { method: "HEAD", headers })).headers.get("etag") ?? "";
    for (let round = 0; round < 15; round += 1) {
      expect((await fetch(url, { method: "HEAD", headers })).status).to.equal(200);
      const known = await fetch(url, { headers: { ...headers, "if-none-match": etag } });
      expect(known.status).to.equal(304);
      await (await fetch(url, { headers })).body?.cancel();
    }
    const answer = await eventually(async () => {
      const again = await download("large.bin");
      return again.status === 200 ? again : undefined;
    });
    expect((await bytes(answer!)).equals(large)).to.equal(true);
  });

  it("answers 404 for a directory", async () => {
    expect((await download("src")).status).to.equal(404);
  });
});

describe("GET …/blob/recursive", () => {
  const list = async (query: Record<string, string>) => {
    const answer = await send("/recursive", { commitHash: head, ...query });
    return (await answer.json()) as {
      filePath: string;
      extension: string;
      lfsOid: string | null;
    }[];
  };

  it("lists the files of the root, and of levels below down to the requested depth", async () => {
    const paths = async (depth: string) => (await list({ depth })).map(({ filePath }) => filePath);

    expect(await paths("0"))
      .to.include.members(["README.md", "link"])
      .and.not.include("src/a b#?.ts");
    expect(await paths("1"))
      .to.include("src/a b#?.ts")
      .and.not.include("src/deep/er/file.tar.gz");
    expect(await paths("3")).to.include("src/deep/er/file.tar.gz");
  });

  it("returns size, extension and LFS object", async () => {
    const all = await list({ depth: "10" });
    const one = (file: string) => all.find(({ filePath }) => filePath === file);

    expect(one("README.md")).to.deep.equal({
      filePath: "README.md",
      extension: ".md",
      size: 8,
      lfsOid: null,
      lockedBy: null,
    });
    expect(one("LICENSE")).to.include({ extension: ".null" });
    expect(one(".gitignore")).to.include({ extension: ".null" });
    expect(one("src/deep/er/file.tar.gz")).to.include({ extension: ".gz" });
    expect(one("model.lfs")).to.include({ lfsOid: "a".repeat(64) });
  });

  it("begins at a directory", async () => {
    const [file] = await list({ directory: "/src/deep/er/" });
    expect(file).to.include({ filePath: "src/deep/er/file.tar.gz" });
  });

  it("refuses a depth over the maximum, and directories that are none", async () => {
    const status = async (query: Record<string, string>) =>
      (await send("/recursive", { commitHash: head, ...query })).status;
    for (const depth of ["11", "-1", "x", "1.5"]) expect(await status({ depth })).to.equal(422);
    for (const directory of ["nothing", "README.md", "..", ".git", "link", "etc"]) {
      expect(await status({ directory }), directory).to.equal(404);
    }
  });
});

describe("GET /project/{projectUuid}/file-size", () => {
  it("answers the size of a branch's file in words", async () => {
    const query = new URLSearchParams({ filepath: "README.md", branchName: "main" });
    const answer = await app.get(`/project/${project.id}/file-size?${query}`, anna.token);
    const text = await answer.text();
    expect(JSON.parse(text), text).to.equal("8 bytes");
  });

  it("answers 404 for an unknown branch, file or project", async () => {
    for (const [id, filepath, branchName] of [
      [project.id, "README.md", "none"],
      [project.id, "none", "main"],
      [project.id, "src", "main"],
      [anna.id, "README.md", "main"],
    ]) {
      const query = new URLSearchParams({ filepath: filepath!, branchName: branchName! });
      expect((await app.get(`/project/${id}/file-size?${query}`, anna.token)).status).to.equal(404);
    }
  });
});
