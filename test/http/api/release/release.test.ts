import { randomUUID } from "node:crypto";
import { expect } from "chai";

import { startTestApp, type TestUser } from "../../../support/app/app.ts";
import { commit, git, temporaryDirectory, workingCopy } from "../../../support/git/git.ts";

const app = await startTestApp();
const parent = await temporaryDirectory();
const anna = await app.givenUser("anna");
const boris = await app.givenUser("boris");
await app.givenProject(anna, "forge", { private: false });
await app.givenProject(anna, "other");
await app.givenProject(anna, "empty");

let first: string;
let second: string;
before(async () => {
  const copy = await workingCopy(parent, "copy");
  first = await commit(copy, "First", { "a.txt": "a\n" });
  await git(copy, "tag", "v0", first);
  second = await commit(copy, "Second", { "b.txt": "b\n" });
  for (const name of ["forge", "other"]) {
    const remote = `${app.url.replace("//", `//anna:${anna.token}@`)}/project/anna/${name}.git`;
    await git(copy, "push", "--quiet", remote, "main", "--tags");
  }
});

type Json = Record<string, unknown>;
const at = (rest = "", project = "forge") => `/project/anna/${project}/release${rest}`;
const { token } = anna;
const details = { title: "One", description: "All **new**", preRelease: false };

const create = (body: object, options: Readonly<{ project?: string; user?: TestUser }> = {}) =>
  app.post(at("", options.project), {
    token: (options.user ?? anna).token,
    body: { ...details, ...body },
  });

async function created(body: object, project?: string): Promise<Json> {
  const answer = await create(body, project === undefined ? {} : { project });
  expect(answer.status, answer.text).to.equal(200);
  return answer.body;
}

const listed = async (query = "", project?: string) =>
  (await app.get(at(query, project), { token })).body as {
    _embedded: { releaseTagModelList: Json[] };
    page: Json;
  };

describe("creating a release", () => {
  it("takes a tag that is there, and says where it stands", async () => {
    const release = await created({ tagName: "v0" });
    expect(release).to.deep.include({
      ...details,
      tagName: "v0",
      commitId: first,
      authorId: anna.id,
      attachmentFiles: null,
    });
    expect(release["createdAt"]).to.equal(release["updatedAt"]);
    expect((await app.get(at(`/${release["id"]}`), { token })).body).to.deep.equal(release);
  });

  it("makes the tag: on the default branch, another branch, a commit", async () => {
    expect(await created({ tagName: "v1" })).to.include({ commitId: second });
    await app.post("/project/anna/forge/branch", {
      token,
      body: { newBranch: "old", originBranch: "main" },
    });
    expect(await created({ tagName: "v2", branchName: "old" })).to.include({ commitId: second });
    expect(await created({ tagName: "v3", commitId: first })).to.include({ commitId: first });
    const made = await app.get("/project/anna/forge/tag/v3", { token });
    expect(made.body).to.include({ commitId: first, lightWeight: true });
  });

  it("is refused where the tag cannot be made, and then makes no release", async () => {
    const { totalElements } = (await listed()).page;
    for (const [body, status, code] of [
      [{ tagName: "w1", branchName: "nowhere" }, 404, "branch.not_found"],
      [{ tagName: "w1", commitId: "f".repeat(40) }, 404, "commit.not_found"],
      [{ tagName: "v0", commitId: second }, 422, "tag.exists"],
      [{ tagName: "../x" }, 422, "request.invalid"],
      [{ tagName: "--upload-pack=x" }, 422, "request.invalid"],
      [{ tagName: "w1", title: " " }, 422, "request.invalid"],
      [{ tagName: "w1", title: "x".repeat(256) }, 422, "request.invalid"],
      [{ tagName: "w1", description: "x".repeat(100_001) }, 422, "request.invalid"],
    ] as const) {
      const answer = await create(body);
      expect([answer.status, answer.body["code"]], answer.text).to.deep.equal([status, code]);
    }
    const nothing = await create({ tagName: "w1" }, { project: "empty" });
    expect(nothing.body["code"]).to.equal("branch.not_found");
    expect((await listed()).page["totalElements"]).to.equal(totalElements);
  });

  it("is found again by its tag", async () => {
    const { id } = await created({ tagName: "sought" });
    const found = await listed("?tagName=sought");
    expect(found.page).to.include({ totalElements: 1 });
    expect(found._embedded.releaseTagModelList[0]).to.include({ id });
    expect((await listed("?tagName=soug")).page).to.include({ totalElements: 0 });
  });

  it("takes a tag that stands at the commit by any name of it", async () => {
    for (const commitId of [first.slice(0, 9), "v0"]) {
      const answer = await create({ tagName: "v0", commitId });
      expect(answer.body["code"]).to.equal("release.tag_taken");
    }
  });

  it("obeys the rules about tags", async () => {
    const made = await app.post("/project/anna/other/tag-protection/create", {
      token,
      body: { tagTemplate: "v*", allowToCreate: "NO_ONE" },
    });
    expect(made.status).to.equal(200);
    const answer = await create({ tagName: "v9" }, { project: "other" });
    expect([answer.status, answer.body["code"]]).to.deep.equal([403, "tag.protected"]);
    expect(await created({ tagName: "x9" }, "other")).to.include({ tagName: "x9" });
  });

  it("is done once for a tag, also by many at once, and again when the first is deleted", async () => {
    const answers = await Promise.all(Array.from({ length: 4 }, () => create({ tagName: "once" })));
    const [won] = answers.filter(({ status }) => status === 200);
    const lost = answers.filter(({ status }) => status !== 200).map(({ body }) => body["code"]);
    expect(lost).to.have.length(3);
    // Who found no tag lost the race for it, who found one the race for the release.
    for (const code of lost) expect(["release.tag_taken", "tag.exists"]).to.include(code);
    expect((await create({ tagName: "once" })).body).to.include({ code: "release.tag_taken" });
    await app.delete(at(`/${won!.body["id"]}`), { token });
    await created({ tagName: "once" });
  });

  it("is for those who may push", async () => {
    const answer = await create({ tagName: "theirs" }, { user: boris });
    expect([answer.status, answer.body["code"]]).to.deep.equal([403, "auth.role_missing"]);
  });

  it("answers a repeated request with the same release", async () => {
    const send = () =>
      app.post(at(), {
        token,
        body: { ...details, tagName: "twice" },
        headers: { "idempotency-key": "release-twice" },
      });
    const [one, two] = [await send(), await send()];
    expect(one.status, one.text).to.equal(200);
    expect(two.body).to.deep.equal(one.body);
  });
});

describe("the releases of a project", () => {
  it("are listed newest first, page by page, those of this project only", async () => {
    const other = await created({ tagName: "listed" }, "other");
    const [a, b] = [await created({ tagName: "list-a" }), await created({ tagName: "list-b" })];
    const { _embedded, page } = await listed("?size=2");
    expect(_embedded.releaseTagModelList.map(({ id }) => id)).to.deep.equal([b["id"], a["id"]]);
    const everything = await listed("?size=200");
    expect(everything._embedded.releaseTagModelList.map(({ id }) => id)).not.to.include(
      other["id"],
    );
    expect(everything.page["totalElements"]).to.equal(page["totalElements"]);
    expect(await listed("", "empty")).to.deep.include({ _embedded: { releaseTagModelList: [] } });
  });

  it("have a latest one, a pre-release only when there is nothing else", async () => {
    const nothing = await app.get(at("/latest", "empty"), { token });
    expect([nothing.status, nothing.body["code"]]).to.deep.equal([404, "release.not_found"]);
    await app.givenProject(anna, "young");
    const copy = await workingCopy(parent, "young");
    await commit(copy, "One");
    const remote = `${app.url.replace("//", `//anna:${token}@`)}/project/anna/young.git`;
    await git(copy, "push", "--quiet", remote, "main");
    const latest = async () => (await app.get(at("/latest", "young"), { token })).body["id"];
    const early = await created({ tagName: "p1", preRelease: true }, "young");
    expect(await latest()).to.equal(early["id"]);
    const whole = await created({ tagName: "p2" }, "young");
    await created({ tagName: "p3", preRelease: "true" }, "young");
    expect(await latest()).to.equal(whole["id"]);
  });

  it("are nobody's under another project, or under an id of another form", async () => {
    const { id } = await created({ tagName: "mine" }, "other");
    for (const wrong of [id, randomUUID(), "x", ".."]) {
      const head = await app.head();
      const put = await app.put(at(`/${wrong}`), { token, body: { title: "Stolen" } });
      expect(put.status, String(wrong)).to.be.oneOf([404, 405]);
      expect((await app.delete(at(`/${wrong}`), { token })).status).to.be.oneOf([404, 405]);
      expect((await app.get(at(`/${id}`), { token })).status).to.equal(404);
      expect(await app.head()).to.equal(head);
    }
  });
});

describe("editing a release", () => {
  it("changes what is given, and keeps the rest", async () => {
    const { id } = await created({ tagName: "e1" });
    const change = async (body: object) => (await app.put(at(`/${id}`), { token, body })).body;
    expect(await change({ title: "Two" })).to.include({ ...details, title: "Two", tagName: "e1" });
    expect(await change({ description: null, preRelease: true })).to.include({
      title: "Two",
      description: "",
      preRelease: true,
    });
    const head = await app.head();
    await change({ title: "Two" });
    expect(await app.head(), "nothing changed").to.equal(head);
  });

  it("connects it to another tag, and gives the first one back", async () => {
    const { id } = await created({ tagName: "f1", commitId: first });
    await created({ tagName: "f2" });
    const to = (tagName: string) => app.put(at(`/${id}`), { token, body: { tagName } });
    expect((await to("f2")).body["code"]).to.equal("release.tag_taken");
    expect((await to("f3")).body).to.include({ tagName: "f3", commitId: second });
    expect(await created({ tagName: "f1" })).to.include({ commitId: first });
    expect((await to("f1")).body["code"]).to.equal("release.tag_taken");
  });
});

describe("deleting a release", () => {
  it("leaves the tag", async () => {
    const { id } = await created({ tagName: "gone" });
    expect((await app.delete(at(`/${id}`), { token })).status).to.equal(200);
    expect((await app.get(at(`/${id}`), { token })).status).to.equal(404);
    expect((await app.delete(at(`/${id}`), { token })).status).to.equal(404);
    expect((await app.get("/project/anna/forge/tag/gone", { token })).status).to.equal(200);
  });
});
