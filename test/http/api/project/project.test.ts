import { randomUUID } from "node:crypto";
import { expect } from "chai";

import { startTestApp } from "../../../support/app/app.ts";

const app = await startTestApp();
const anna = await app.givenUser("Anna");
const boris = await app.givenUser("boris");

const create = (body: object, token = anna.token) => app.post("/project", { token, body });
const titles = (answer: Awaited<ReturnType<typeof app.get>>) => {
  const { projectList } = answer.body["_embedded"] as { projectList: { title: string }[] };
  return projectList.map(({ title }) => title);
};

describe("POST /project", () => {
  it("makes a project that shows by alias, by id and among one's own", async () => {
    const body = { title: "Search", alias: "Search", isPrivate: "true", language: "Go" };
    const created = await create({ ...body, ownerAlias: "anna", ownerAliasType: "USER" });
    expect(created.status).to.equal(200);
    expect(created.body).to.deep.include({
      title: "Search",
      alias: "Search",
      private: true,
      language: "Go",
      description: "",
      siteUrl: "",
      allowedMemory: "",
      defaultBranch: "main",
      owner: { alias: "Anna", type: "USER" },
      httpTransportUrl: `${app.url}/project/Anna/Search.git`,
      sshTransportUrl: "git@127.0.0.1:Anna/Search.git",
    });
    const { token } = anna;
    expect((await app.get("/project/anna/search", { token })).body).to.deep.equal(created.body);
    const byId = await app.get(`/project/${created.body["id"]}`, { token });
    expect(byId.body).to.deep.equal(created.body);
    expect(titles(await app.get("/project/my?q=sear", { token }))).to.deep.equal(["Search"]);
  });

  it("is private, and the caller's, when nothing else is said", async () => {
    const created = await create({ title: "Quiet", alias: "quiet" });
    expect(created.body).to.deep.include({ private: true, owner: { alias: "Anna", type: "USER" } });
  });

  it("refuses a second one of the alias under the same owner, but not under another", async () => {
    expect((await create({ title: "One", alias: "one" })).status).to.equal(200);
    const again = await create({ title: "Two", alias: "ONE" });
    expect(again.status).to.equal(422);
    expect(again.body).to.include({ code: "alias.taken" });
    expect((await create({ title: "One", alias: "one" }, boris.token)).status).to.equal(200);
  });

  it("refuses to create for another user, and for an unknown one", async () => {
    const head = await app.head();
    const body = { title: "Foreign", alias: "foreign" };
    const foreign = await create({ ...body, ownerAlias: "anna" }, boris.token);
    expect(foreign.status).to.equal(403);
    expect((await create({ ...body, ownerAlias: "nobody" })).status).to.equal(404);
    expect((await create({ ...body, ownerAlias: "x", ownerAliasType: "TEAM" })).status).to.equal(
      404,
    );
    expect(await app.head()).to.equal(head);
  });

  for (const alias of [
    "..",
    "a/b",
    "x.git",
    ".git",
    "a..b",
    "-x",
    "x.",
    "x".repeat(65),
    "проект",
  ]) {
    it(`refuses the alias ${alias.slice(0, 12)}`, async () => {
      expect((await create({ title: "Bad", alias })).status).to.equal(422);
    });
  }

  it("lets one of several racing requests have the alias", async () => {
    const answers = await Promise.all(
      [1, 2, 3, 4].map((n) => create({ title: `Race ${n}`, alias: "race" })),
    );
    expect(answers.map(({ status }) => status).sort()).to.deep.equal([200, 422, 422, 422]);
  });
});

describe("reading projects", () => {
  before(async () => {
    await create({ title: "Open to all", alias: "open", isPrivate: false });
    await create({ title: "Open secret", alias: "secret", isPrivate: true });
  });

  it("never shows a private one to a stranger, in rows or totals", async () => {
    const listed = await app.get("/project?q=open", { token: boris.token });
    expect(titles(listed)).to.deep.equal(["Open to all"]);
    expect(listed.body["page"]).to.include({ totalElements: 1 });
    const { token } = boris;
    expect((await app.get("/project/anna/open", { token })).status).to.equal(200);
    expect((await app.get("/project/anna/secret", { token })).status).to.equal(403);
    expect((await app.get("/project/anna/missing", { token })).status).to.equal(404);
    expect((await app.get(`/project/${randomUUID()}`, { token })).status).to.equal(404);
  });

  it("takes what was typed as text, not as a pattern", async () => {
    for (const q of ["%25", "_", "'; drop table project; --"]) {
      expect(titles(await app.get(`/project?q=${q}`, { token: boris.token }))).to.deep.equal([]);
    }
    const twice = await app.get("/project?q=a&q=b", { token: boris.token });
    expect(twice.status).to.be.oneOf([200, 422]);
  });

  it("answers an unchanged project with 304", async () => {
    const first = await app.get("/project/anna/open", { token: boris.token });
    const headers = { "if-none-match": String(first.headers.get("etag")) };
    const second = await app.get("/project/anna/open", { token: boris.token, headers });
    expect(second.status).to.equal(304);
  });
});
