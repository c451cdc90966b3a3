import { expect } from "chai";

import { type Send, startTestApp, type TestUser } from "../../../support/app/app.ts";

const app = await startTestApp();
const as = (user: { token: string }, body?: unknown): Send => ({ token: user.token, body });

let anna: TestUser;
let bob: TestUser;

before(async () => {
  anna = await app.givenUser("anna");
  bob = await app.givenUser("bob");
  for (const [alias, user] of [
    ["tools", anna],
    ["bobs", bob],
  ] as const) {
    await app.post("/team", as(user, { title: alias, alias, isPrivate: true }));
  }
});

const create = async (alias: string, over: object = {}, user = anna) => {
  const answer = await app.post("/project", as(user, { title: alias, alias, ...over }));
  expect(answer.status, answer.text).to.equal(200);
  return answer.body;
};
const at = (alias: string, rest = "", owner = "anna") => `/project/${owner}/${alias}${rest}`;
const aliases = async (path: string, user = bob) => {
  const { body } = await app.get(path, as(user));
  const { projectList } = body["_embedded"] as { projectList: { alias: string }[] };
  const { totalElements } = body["page"] as { totalElements: number };
  expect(totalElements).to.equal(projectList.length);
  return projectList.map(({ alias }) => alias);
};

describe("the settings of a project", () => {
  before(() => create("search", { description: "Stays." }));

  it("change what is given and keep the rest", async () => {
    const change = {
      title: "Search engine",
      language: "Go",
      topics: ["index", "text", "index"],
      siteUrl: "https://search.example",
    };
    const path = at("search", "/setting/change-setting");
    const { status, body } = await app.put(path, as(anna, change));
    expect(status).to.equal(200);
    expect(body).to.deep.include({ ...change, topics: ["index", "text"], description: "Stays." });
    expect((await app.get(at("search"), as(anna))).body).to.deep.equal(body);
    expect((await app.put(path, as(anna, { siteUrl: "" }))).body["siteUrl"]).to.equal("");
  });

  for (const body of [
    { title: "" },
    { topics: "index" },
    { topics: Array.from({ length: 51 }, (_, index) => `t${index}`) },
    { siteUrl: "javascript:alert(1)" },
    { siteUrl: "ftp://search.example" },
  ]) {
    it(`refuse ${JSON.stringify(body).slice(0, 40)}`, async () => {
      const answer = await app.put(at("search", "/setting/change-setting"), as(anna, body));
      expect(answer.status).to.equal(422);
    });
  }

  it("are for ADMINs alone, whatever else a member may do", async () => {
    await app.post(
      at("search", "/member/invite"),
      as(anna, { userAlias: "bob", role: "DEVELOPER" }),
    );
    const head = await app.head();
    for (const [path, body] of [
      ["/setting/change-setting", { title: "Mine" }],
      ["/setting/visibility", { isPrivate: false }],
      ["/setting/alias", { alias: "mine" }],
      ["/setting/default-branch", { branchName: "main" }],
    ] as const) {
      expect((await app.put(at("search", path), as(bob, body))).status, path).to.equal(403);
    }
    const transfer = { ownerAlias: "bob", ownerAliasType: "USER" };
    expect((await app.post(at("search", "/transfer"), as(bob, transfer))).status).to.equal(403);
    expect(await app.head()).to.equal(head);
    await app.delete(at("search", "/member/bob"), as(anna));
  });

  it("decide at once who sees it", async () => {
    expect((await app.get(at("search"), as(bob))).status).to.equal(403);
    expect(await aliases("/project?q=search")).to.deep.equal([]);
    await app.put(at("search", "/setting/visibility"), as(anna, { isPrivate: false }));
    expect((await app.get(at("search"), as(bob))).status).to.equal(200);
    expect(await aliases("/project?q=search")).to.deep.equal(["search"]);
    await app.put(at("search", "/setting/visibility"), as(anna, { isPrivate: true }));
    expect((await app.get(at("search"), as(bob))).status).to.equal(403);
    expect(await aliases("/project?q=search")).to.deep.equal([]);
  });

  it("refuse a default branch that is not there", async () => {
    for (const branchName of ["nothing", "--output=x", "../HEAD", "HEAD"]) {
      const path = at("search", "/setting/default-branch");
      const { status, body } = await app.put(path, as(anna, { branchName }));
      expect([status, body["code"]]).to.deep.equal([404, "branch.not_found"]);
    }
  });
});

describe("the alias of a project", () => {
  it("changes; the old one answers 404 and is free", async () => {
    await create("first");
    const answer = await app.put(at("first", "/setting/alias"), as(anna, { alias: "second" }));
    expect(answer.status).to.equal(200);
    expect(answer.body["httpTransportUrl"]).to.match(/\/project\/anna\/second\.git$/);
    expect((await app.get(at("first"), as(anna))).status).to.equal(404);
    expect((await app.get(at("second"), as(anna))).status).to.equal(200);
    await create("first");
    const taken = await app.put(at("first", "/setting/alias"), as(anna, { alias: "SECOND" }));
    expect([taken.status, taken.body["code"]]).to.deep.equal([422, "alias.taken"]);
    expect((await app.get(at("first"), as(anna))).status).to.equal(200);
  });
});

describe("transferring a project", () => {
  const transfer = (alias: string, ownerAlias: string, ownerAliasType: string, owner = "anna") =>
    app.post(at(alias, "/transfer", owner), as(anna, { ownerAlias, ownerAliasType }));

  before(() => create("moving"));

  it("gives it to a team of the caller's, and back", async () => {
    const { status, body } = await transfer("moving", "tools", "TEAM");
    expect(status).to.equal(200);
    expect(body["owner"]).to.deep.equal({ alias: "tools", type: "TEAM" });
    expect((await app.get(at("moving"), as(anna))).status).to.equal(404);
    const back = await transfer("moving", "anna", "USER", "tools");
    expect(back.body["owner"]).to.deep.equal({ alias: "anna", type: "USER" });
  });

  it("is refused to a team in which the caller is no ADMIN", async () => {
    expect((await transfer("moving", "bobs", "TEAM")).status).to.equal(403);
  });

  it("is refused to whom there is not, and under another type", async () => {
    expect((await transfer("moving", "nobody", "USER")).status).to.equal(404);
    expect((await transfer("moving", "tools", "COMPANY")).status).to.equal(404);
    expect((await transfer("moving", "tools", "ROOT")).status).to.equal(422);
  });

  it("is refused when the new owner has a project of this alias", async () => {
    await create("moving", { ownerAlias: "tools", ownerAliasType: "TEAM" });
    const taken = await transfer("moving", "tools", "TEAM");
    expect([taken.status, taken.body["code"]]).to.deep.equal([422, "alias.taken"]);
    expect((await app.get(at("moving"), as(anna))).status).to.equal(200);
  });
});

describe("a deleted project", () => {
  let id: string;
  const remove = (user = anna) => app.delete(`/project/${id}/delete`, as(user));
  const restore = (user = anna) => app.post(`/project/${id}/restore`, as(user));

  before(async () => {
    id = String((await create("doomed", { isPrivate: false, title: "Doomed" }))["id"]);
    const change = { topics: ["end"] };
    await app.put(at("doomed", "/setting/change-setting"), as(anna, change));
    await app.post(
      at("doomed", "/member/invite"),
      as(anna, { userAlias: "bob", role: "DEVELOPER" }),
    );
  });

  it("is deleted by its ADMINs alone", async () => {
    expect((await remove(bob)).status).to.equal(403);
    expect((await app.get(at("doomed"), as(bob))).status).to.equal(200);
  });

  it("is gone from everywhere, and its alias is free", async () => {
    expect((await remove()).status).to.equal(200);
    for (const path of [at("doomed"), `/project/${id}`, at("doomed", "/member")]) {
      expect((await app.get(path, as(anna))).status, path).to.equal(404);
    }
    expect(await aliases("/project?q=doomed")).to.deep.equal([]);
    expect(await aliases("/project/my?q=doomed", anna)).to.deep.equal([]);
    expect(await aliases("/project/shared?q=doomed")).to.deep.equal([]);
    expect((await remove()).status).to.equal(404);
  });

  it("is restored by its ADMINs alone, with everything back", async () => {
    expect((await restore(bob)).status).to.equal(403);
    const { status, body } = await restore();
    expect(status).to.equal(200);
    expect(body).to.deep.include({ id, alias: "doomed", topics: ["end"] });
    expect((await app.get(at("doomed", "/member"), as(bob))).text).to.contain('"DEVELOPER"');
    expect(await aliases("/project/shared?q=doomed")).to.deep.equal(["doomed"]);
    expect((await restore()).status).to.equal(200);
  });

  it("is not restored over another project of its alias", async () => {
    await remove();
    await create("doomed");
    const taken = await restore();
    expect([taken.status, taken.body["code"]]).to.deep.equal([422, "alias.taken"]);
  });

  it("is not restored when there never was one", async () => {
    const path = "/project/0f0e4dcb-5f0b-4f30-a49f-0a2b8c1d2e3f/restore";
    expect((await app.post(path, as(anna))).status).to.equal(404);
  });
});

describe("lists of projects", () => {
  before(async () => {
    await app.post("/company", as(anna, { title: "C", alias: "acme", isPrivate: true }));
    const owned = { ownerAlias: "acme", ownerAliasType: "COMPANY" };
    await app.post("/team", as(anna, { title: "T", alias: "acme-t", ...owned }));
    await create("in-team", { ownerAlias: "tools", ownerAliasType: "TEAM", title: "List a" });
    await create("in-company", { ...owned, title: "List b" });
    await create("in-both", { ownerAlias: "acme-t", ownerAliasType: "TEAM", title: "List c" });
    await create("alone", { title: "List d" });
  });

  it("show projects of a user's teams and companies as their own", async () => {
    const all = ["in-team", "in-company", "in-both", "alone"];
    expect(await aliases("/project/my?q=list", anna)).to.deep.equal(all);
    expect(await aliases("/project/shared?q=list", anna)).to.deep.equal([]);
    expect(await aliases("/project/my?q=list", bob)).to.deep.equal([]);
  });

  it("show a private project to members of it, its team or its company, and nobody else", async () => {
    const shared = () => aliases("/project/shared?q=list");
    const invite = (path: string) =>
      app.post(`${path}/member/invite`, as(anna, { userAlias: "bob", role: "GUEST" }));
    const fire = (path: string) => app.delete(`${path}/member/bob`, as(anna));
    expect(await shared()).to.deep.equal([]);
    for (const [path, seen] of [
      ["/team/tools", ["in-team"]],
      ["/company/acme", ["in-company", "in-both"]],
      ["/team/acme-t", ["in-both"]],
      ["/project/anna/alone", ["alone"]],
    ] as const) {
      await invite(path);
      expect(await shared(), path).to.deep.equal(seen);
      expect(await aliases("/project?q=list")).to.deep.equal([]);
      await fire(path);
    }
    expect(await shared()).to.deep.equal([]);
  });
});
