import { expect } from "chai";
import { startGitApp, type TestProject, type TestUser } from "../../../support/app/git-app.ts";
import { commit, git, temporaryDirectory, workingCopy } from "../../../support/git/git.ts";

const app = await startGitApp();
const parent = await temporaryDirectory();
let anna: TestUser;
let project: TestProject;
let copy: string;
let first: string;
let second: string;
let merge: string;

type Json = Record<string, unknown>;
type Answer<Body> = Readonly<{ status: number; body: Body; headers: Headers }>;

async function send<Body = Json>(path: string): Promise<Answer<Body>> {
  const answer = await app.get(project.path + path, anna.token);
  const { status, headers } = answer;
  return { status, headers, body: (await answer.json()) as Body };
}

const byPath = async (path: string): Promise<ReadonlyMap<unknown, Json>> => {
  const { status, body } = await send<readonly Json[]>(path);
  expect(status).to.equal(200);
  return new Map(body.map((file) => [file["filePath"], file]));
};

before(async () => {
  anna = await app.user("anna");
  project = await app.project(anna, "project");
  copy = await workingCopy(parent, "copy");
  first = await commit(copy, "First\n\nWith a body.", {
    "src/main.ts": "/* one\n * two\n */\nexport const a = 1;\n",
    "old name.txt": `${"same\n".repeat(20)}`,
    "gone.md": "gone\n",
    "pixel.png": Buffer.from([0x89, 0x50, 0x4e, 0x47, 0, 1]),
    Makefile: "all:\n",
  });
  await git(copy, "mv", "old name.txt", "new name.txt");
  await git(copy, "rm", "--quiet", "gone.md");
  second = await commit(copy, "Second", {
    "src/main.ts": '/* one\n * 2\n */\nexport const a = "<b>";\n',
    "src/new.ts": "export const b = 2;\n",
    "pixel.png": Buffer.from([0x89, 0x50, 0x4e, 0x47, 0, 2]),
    Makefile: "all:\n\ttrue\n",
  });
  await git(copy, "checkout", "--quiet", "-b", "side", first);
  await commit(copy, "Side", { "side.txt": "side\n" });
  await git(copy, "checkout", "--quiet", "main");
  await git(copy, "merge", "--quiet", "--no-ff", "-m", "Merge", "side");
  merge = await git(copy, "rev-parse", "HEAD");
  await git(copy, "tag", "v1", first);
  await git(copy, "checkout", "--quiet", "--orphan", "alone");
  await commit(copy, "Alone");
  await git(copy, "push", "--quiet", app.remote(project, anna), "--all");
  await git(copy, "push", "--quiet", app.remote(project, anna), "--tags");
});

describe("GET …/commit/{hash}/file", () => {
  it("lists every field of every changed file, without the lines", async () => {
    const files = await byPath(`/commit/${second}/file`);

    expect([...files.keys()]).to.deep.equal([
      "Makefile",
      "gone.md",
      "new name.txt",
      "pixel.png",
      "src/main.ts",
      "src/new.ts",
    ]);
    const { id, headers, lastCommit, ...main } = files.get("src/main.ts")!;
    expect(main).to.deep.equal({
      newMode: "100644",
      oldMode: "100644",
      newPath: "src/main.ts",
      oldPath: "src/main.ts",
      addedLinesCount: 2,
      removedLinesCount: 2,
      fileName: "main.ts",
      filePath: "src/main.ts",
      fileExtension: ".ts",
      isImg: false,
      isCollapsed: false,
      isLarge: false,
      isBinary: false,
      changeType: "MODIFY",
      lines: [],
      links: [],
    });
    expect(id).to.match(/^[0-9a-f-]{36}$/);
    expect(headers).to.include("--- a/src/main.ts");
    expect(lastCommit).to.deep.include({ hash: second, shortMessage: "Second" });
    expect((lastCommit as Json)["authorIdent"]).to.deep.include({
      name: "Anna Author",
      emailAddress: "anna@example.test",
    });
  });

  it("says what was added, removed and renamed", async () => {
    const files = await byPath(`/commit/${second}/file`);

    expect(files.get("src/new.ts")).to.deep.include({
      changeType: "ADD",
      oldPath: "/dev/null",
      oldMode: "0",
      newPath: "src/new.ts",
      newMode: "100644",
    });
    expect(files.get("gone.md")).to.deep.include({
      changeType: "DELETE",
      newPath: "/dev/null",
      newMode: "0",
      oldPath: "gone.md",
      oldMode: "100644",
      fileName: "gone.md",
      removedLinesCount: 1,
    });
    expect(files.get("new name.txt")).to.deep.include({
      changeType: "RENAME",
      oldPath: "old name.txt",
      newPath: "new name.txt",
      addedLinesCount: 0,
    });
    expect(files.get("Makefile")).to.deep.include({ fileExtension: ".null", changeType: "MODIFY" });
    expect(files.get("pixel.png")).to.deep.include({ isImg: true, isBinary: true });
  });

  it("gives the same ids to repeated requests, and each file its own", async () => {
    const ids = async (hash: string): Promise<readonly unknown[]> =>
      [...(await byPath(`/commit/${hash}/file`)).values()].map(({ id }) => id);
    const some = await ids(second);
    expect(await ids(second)).to.deep.equal(some);
    expect(new Set([...some, ...(await ids(first))]).size).to.equal(6 + 5);
  });

  it("has all files of a commit without parents, and of a merge what it brought", async () => {
    const all = await byPath(`/commit/${first}/file`);
    expect([...all.values()].map(({ changeType }) => changeType)).to.deep.equal(
      Array.from({ length: 5 }, () => "ADD"),
    );
    expect([...(await byPath(`/commit/${merge}/file`)).keys()]).to.deep.equal(["side.txt"]);
  });

  it("never changes, and is marked immutable", async () => {
    const { headers } = await send(`/commit/${second}/file`);
    expect(headers.get("cache-control")).to.contain("immutable");
    const etag = headers.get("etag") ?? "";
    const path = `${project.path}/commit/${second}/file`;
    const again = await app.get(path, anna.token, { "if-none-match": etag });
    expect(again.status).to.equal(304);
  });

  for (const hash of ["0".repeat(40), "none", "--output=x", "HEAD~1"]) {
    it(`answers 404 for ${hash.slice(0, 10)}`, async () => {
      expect((await send(`/commit/${hash}/file`)).status).to.equal(404);
    });
  }
});

describe("GET …/commit/{commitId}/diff", () => {
  type Line = Record<"op" | "body" | "highLightBody" | "type" | "id", string> &
    Record<"addLineNumber" | "removeLineNumber", number | null>;
  const diff = (path: string, hash = second) =>
    send(`/commit/${hash}/diff?filePath=${encodeURIComponent(path)}`);
  const linesOf = async (path: string, hash?: string): Promise<readonly Line[]> =>
    (await diff(path, hash)).body["lines"] as readonly Line[];

  it("has the headers, and the lines with where they stand", async () => {
    const { body } = await diff("src/main.ts");
    const listed = await byPath(`/commit/${second}/file`);
    expect({ ...body, lines: [] }).to.deep.equal(listed.get("src/main.ts"));

    const lines = body["lines"] as readonly Line[];
    expect(
      lines.map((line) => [line.op, line.removeLineNumber, line.addLineNumber, line.body]),
    ).to.deep.equal([
      ["none", 1, 1, "/* one"],
      ["remove", 2, null, " * two"],
      ["add", null, 2, " * 2"],
      ["none", 3, 3, " */"],
      ["remove", 4, null, "export const a = 1;"],
      ["add", null, 4, 'export const a = "<b>";'],
    ]);
    expect(new Set(lines.map(({ id }) => id)).size).to.equal(lines.length);
    expect(new Set(lines.map(({ type }) => type))).to.deep.equal(new Set(["line"]));
  });

  it("colours a line as what it is in the whole file, and escapes it", async () => {
    const lines = await linesOf("src/main.ts");
    expect(lines[1]?.highLightBody).to.equal('<span class="hljs-comment"> * two</span>');
    expect(lines[2]?.highLightBody).to.equal('<span class="hljs-comment"> * 2</span>');
    expect(lines[5]?.highLightBody).to.contain(
      '<span class="hljs-string">&quot;&lt;b&gt;&quot;</span>',
    );
    const plain = await linesOf("Makefile");
    expect(plain.map(({ highLightBody }) => highLightBody)).to.have.lengthOf(2);
  });

  it("finds a renamed file by its new path, a removed one by its old", async () => {
    expect((await diff("new name.txt")).body).to.deep.include({ changeType: "RENAME", lines: [] });
    expect((await diff("old name.txt")).status).to.equal(404);
    expect(await linesOf("gone.md")).to.have.lengthOf(1);
    expect((await diff("/src/new.ts")).body).to.deep.include({ changeType: "ADD" });
  });

  it("has no lines of a binary file", async () => {
    expect((await diff("pixel.png")).body).to.deep.include({ isBinary: true, lines: [] });
  });

  it("separates hunks", async () => {
    await git(copy, "checkout", "--quiet", "main");
    const text = Array.from({ length: 40 }, (_, index) => `${index}\n`);
    await commit(copy, "Long", { "long.txt": text.join("") });
    const long = text.with(5, "five\n").with(30, "thirty\n").join("");
    const last = await commit(copy, "Longer", { "long.txt": long.trimEnd() });
    await git(copy, "push", "--quiet", app.remote(project, anna), "main");

    const lines = await linesOf("long.txt", last);
    const separators = lines.filter(({ type }) => type === "separator");
    expect(separators.map(({ body, op }) => [body, op])).to.deep.equal([
      ["@@ -3,7 +3,7 @@", "none"],
      ["@@ -28,7 +28,7 @@", "none"],
      ["@@ -37,4 +37,4 @@", "none"],
    ]);
    expect(separators[0]).to.deep.include({ addLineNumber: null, removeLineNumber: null });
    expect(lines.at(-1)).to.deep.include({ type: "line", body: "\\ No newline at end of file" });
    expect(new Set(lines.map(({ id }) => id)).size).to.equal(lines.length);
  });

  it("answers 404 for a file the commit did not change, 422 without one", async () => {
    const { status, body } = await diff("side.txt");
    expect([status, body["code"]]).to.deep.equal([404, "diff.not_found"]);
    for (const path of ["--output=x", "../../etc/passwd", "src", "a\nb"]) {
      expect((await diff(path)).status, path).to.equal(404);
    }
    expect((await send(`/commit/${second}/diff`)).status).to.equal(422);
    for (const hash of ["0".repeat(40), "none", "--output=x", "HEAD~1"]) {
      const { status, body } = await diff("a.txt", hash);
      expect([status, body["code"]], hash).to.deep.equal([404, "commit.not_found"]);
    }
  });

  it("never changes, and is marked immutable", async () => {
    const { headers } = await diff("src/main.ts");
    expect(headers.get("cache-control")).to.contain("immutable");
    expect(headers.get("etag")).to.match(/^"[0-9a-f-]{36}"$/);
  });
});

describe("GET …/commit/{commitId}/for-file", () => {
  const last = async (hash: string, path: string) => {
    const { status, body } = await send(
      `/commit/${hash}/for-file?filePath=${encodeURIComponent(path)}`,
    );
    return status === 200 ? body["hash"] : status;
  };

  it("is the last commit that touched the file, as of the commit", async () => {
    expect(await last(merge, "src/main.ts")).to.equal(second);
    expect(await last(first, "src/main.ts")).to.equal(first);
    expect(await last(merge, "gone.md")).to.equal(second);
    expect(await last(second, "src")).to.equal(second);
  });

  it("answers 404 for a path nobody touched, and for what is no path", async () => {
    for (const path of ["none", "--all", "../x", ".git/config", ":(top)src", "*"]) {
      expect(await last(merge, path), path).to.equal(404);
    }
    expect(await last("0".repeat(40), "src")).to.equal(404);
  });
});

describe("GET …/branch/compare", () => {
  const compare = (base: string, other: string) => {
    const query = new URLSearchParams({ base, compare: other });
    return send<readonly Json[]>(`/branch/compare?${query}`);
  };

  it("lists what a branch changed since it left another", async () => {
    const { body } = await compare(second, "side");
    expect(body.map(({ filePath, changeType }) => [filePath, changeType])).to.deep.equal([
      ["side.txt", "ADD"],
    ]);
    expect(body[0]?.["lastCommit"]).to.deep.include({ shortMessage: "Side" });
    expect((await compare("side", "side")).body).to.deep.equal([]);
    expect((await compare("main", "side")).body).to.deep.equal([]);
  });

  it("takes tags and hashes as well", async () => {
    const { body } = await compare("v1", second);
    expect(body).to.have.lengthOf(6);
    expect(body.map(({ lastCommit }) => (lastCommit as Json)["hash"])).to.deep.equal(
      body.map(() => second),
    );
  });

  it("answers 404 for what is not there, 422 for what shares no history", async () => {
    for (const name of ["none", "--output=x", "main..side", "HEAD~1", "v1^{tree}"]) {
      expect((await compare("main", name)).status, name).to.equal(404);
      expect((await compare(name, "main")).status, name).to.equal(404);
    }
    expect((await compare("main", "alone")).status).to.equal(422);
    expect((await send("/branch/compare?base=main")).status).to.equal(422);
  });

  it("is computed anew each time", async () => {
    const { headers } = await compare(second, "side");
    expect(headers.get("cache-control")).not.to.contain("immutable");
  });
});
