import { expect } from "chai";
import { startGitApp, type TestProject, type TestUser } from "../../../support/app/git-app.ts";
import { commit, git, temporaryDirectory, workingCopy } from "../../../support/git/git.ts";

const app = await startGitApp();
const parent = await temporaryDirectory();
let anna: TestUser;
let project: TestProject;
let empty: TestProject;
let copy: string;
let first: string;
let second: string;

before(async () => {
  anna = await app.user("anna");
  project = await app.project(anna, "project");
  empty = await app.project(anna, "empty");
  copy = await workingCopy(parent, "copy");
  first = await commit(copy, "First\n\nWith a body.", { "a.txt": "a\n" });
  await git(copy, "branch", "merged");
  second = await commit(copy, "Second", { "b/c.txt": "c\n" });
  await git(copy, "tag", "light", first);
  await git(copy, "tag", "-a", "release/1.0", "-m", "Version 1\n\nIs good.", first);
  await git(copy, "checkout", "--quiet", "-b", "feature/x");
  await commit(copy, "Third");
  await git(copy, "push", "--quiet", app.remote(project, anna), "--all");
  await git(copy, "push", "--quiet", app.remote(project, anna), "--tags");
});

type Json = Record<string, unknown>;
const send = async (path: string, of = project): Promise<{ status: number; body: Json }> => {
  const answer = await app.get(of.path + path, anna.token);
  return { status: answer.status, body: (await answer.json()) as Json };
};
const listed = async (path: string, name: string, of = project): Promise<readonly Json[]> =>
  ((await send(path, of)).body["_embedded"] as Record<string, Json[]>)[name]!;

describe("GET …/commit/{hash}", () => {
  it("answers the commit, with the account that has proved the author's address", async () => {
    const { body } = await send(`/commit/${first}`);

    expect(body).to.deep.include({
      hash: first,
      message: "First\n\nWith a body.\n",
      shortMessage: "First",
      parentCommitIds: [],
      parentCommitBranches: [],
    });
    expect(body["authorIdent"]).to.deep.include({
      name: "Anna Author",
      emailAddress: "anna@example.test",
    });
    expect(body["committerIdent"]).to.deep.include({ name: "Carl Committer" });
    expect(body["user"]).to.deep.include({ id: anna.id, username: "anna" });
    expect(body["createdAt"]).to.match(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.000Z$/);
    expect(body["verificationResult"]).to.deep.include({ verified: false });
  });

  it("names its parents and the branches that stand there", async () => {
    const { body } = await send(`/commit/${second}`);
    expect(body).to.deep.include({ parentCommitIds: [first], parentCommitBranches: ["merged"] });
  });

  it("is revalidated: the accounts and branches it names come and go", async () => {
    const answer = await app.get(`${project.path}/commit/${first}`, anna.token);
    const etag = answer.headers.get("etag") ?? "";
    expect(etag).to.match(/^W\//);
    expect(answer.headers.get("cache-control")).not.to.contain("immutable");
    const path = `${project.path}/commit/${first}`;
    expect((await app.get(path, anna.token, { "if-none-match": etag })).status).to.equal(304);
    await git(copy, "push", "--quiet", app.remote(project, anna), `${first}:refs/heads/again`);
    const later = await app.get(`${project.path}/commit/${second}`, anna.token);
    expect(await later.json()).to.deep.include({ parentCommitBranches: ["again", "merged"] });
    await git(copy, "push", "--quiet", app.remote(project, anna), ":refs/heads/again");
  });

  for (const hash of [
    "0".repeat(40),
    "none",
    "-x",
    "--help",
    // Clients resolve `%2e%2e` alone before they send it.
    "%2e%2e%2fx",
    "HEAD~1",
    "a%00b",
    "abcdef1",
  ]) {
    it(`answers 404 for ${hash.slice(0, 10)}`, async () => {
      expect((await send(`/commit/${hash}`)).status).to.equal(404);
    });
  }

  it("is found by a branch, and as HEAD", async () => {
    for (const name of ["main", "HEAD"]) {
      expect((await send(`/commit/${name}`)).body, name).to.include({ hash: second });
    }
  });

  it("answers 404 in a project nobody has pushed to", async () => {
    expect((await send(`/commit/${first}`, empty)).status).to.equal(404);
  });
});

describe("GET …/commits", () => {
  const messages = async (query: string) =>
    (await listed(`/commits${query}`, "commitList")).map(({ shortMessage }) => shortMessage);

  it("lists the default branch, newest first, by page", async () => {
    expect(await messages("")).to.deep.equal(["Second", "First"]);
    expect(await messages("?size=1&page=1")).to.deep.equal(["First"]);
    expect((await send("/commits?size=1")).body["page"]).to.deep.equal({
      size: 1,
      totalElements: 2,
      totalPages: 2,
      number: 0,
    });
  });

  it("lists another branch, and the commits that touched a path", async () => {
    expect(await messages("?branch=feature/x")).to.deep.equal(["Third", "Second", "First"]);
    expect(await messages("?path=b")).to.deep.equal(["Second"]);
    expect(await messages("?path=nothing")).to.deep.equal([]);
  });

  it("takes options and patterns for the names they are not", async () => {
    for (const branch of ["--all", "-x", "none", "main..merged", "HEAD~1"]) {
      expect((await send(`/commits?branch=${branch}`)).status, branch).to.equal(404);
    }
    expect(await messages("?path=--all")).to.deep.equal([]);
    expect(await messages("?path=*")).to.deep.equal([]);
    expect((await send("/commits?path=../x")).status).to.equal(404);
  });

  it("is empty before the first push", async () => {
    const { body } = await send("/commits", empty);
    expect(body["_embedded"]).to.deep.equal({ commitList: [] });
    expect(body["page"]).to.deep.include({ totalElements: 0, totalPages: 0 });
  });
});

describe("GET …/branch", () => {
  it("lists the branches by name", async () => {
    const branches = await listed("/branch", "branchList");

    expect(branches.map(({ lastCommit: _, ...rest }) => rest)).to.deep.equal([
      {
        name: "feature/x",
        fullName: "refs/heads/feature/x",
        default: false,
        merged: false,
        work: false,
      },
      { name: "main", fullName: "refs/heads/main", default: true, merged: true, work: true },
      { name: "merged", fullName: "refs/heads/merged", default: false, merged: true, work: false },
    ]);
    expect(branches[2]!["lastCommit"]).to.deep.include({ hash: first });
    for (const query of ["size=2&page=1", "branchName="]) {
      expect((await send(`/branch?${query}`)).body["page"]).to.deep.include({ totalElements: 3 });
    }
  });

  it("answers one by name, and the default", async () => {
    expect((await send("/branch?branchName=feature/x")).body).to.include({ name: "feature/x" });
    expect((await send("/branch/default")).body).to.include({ name: "main", default: true });
  });

  it("answers 404 for what is not there", async () => {
    for (const name of ["none", "-x", "--list", "light", "refs/heads/main"]) {
      expect((await send(`/branch?branchName=${name}`)).status, name).to.equal(404);
    }
    expect((await send("/branch/default", empty)).status).to.equal(404);
    expect(await listed("/branch", "branchList", empty)).to.deep.equal([]);
  });
});

describe("GET …/tag", () => {
  it("lists lightweight and annotated tags", async () => {
    const tags = await listed("/tag", "tagList");

    expect(tags.map(({ personIdent: _, ...rest }) => rest)).to.deep.equal([
      {
        name: "light",
        fullName: "refs/tags/light",
        objectId: first,
        shortMessage: "First",
        fullMessage: "",
        commitId: first,
        lightWeight: true,
      },
      {
        name: "release/1.0",
        fullName: "refs/tags/release/1.0",
        objectId: await git(copy, "rev-parse", "release/1.0"),
        shortMessage: "Version 1",
        fullMessage: "Version 1\n\nIs good.\n",
        commitId: first,
        lightWeight: false,
      },
    ]);
    expect(tags[0]!["personIdent"]).to.deep.include({ emailAddress: "carl@example.test" });
  });

  it("answers one by name, slashes encoded", async () => {
    expect((await send("/tag/release%2F1.0")).body).to.include({ name: "release/1.0" });
    for (const name of ["none", "-x", "%2e%2e%2fx", "main", "a%00b"]) {
      expect((await send(`/tag/${name}`)).status, name).to.equal(404);
    }
  });
});
