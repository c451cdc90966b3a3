import { expect } from "chai";
import { commit } from "../../../support/git/git.ts";
import { type Entry, givenPushStats } from "../../../support/project/push-stats.ts";

const given = await givenPushStats();
const { app, push, statsOf } = given;

describe("push statistics", () => {
  it("count a kind of file once a commit, as parts with two decimals", async () => {
    await commit(given.copy, "One", { "a.ts": "1", "b.ts": "1", "c.md": "1" });
    await commit(given.copy, "Two", { "a.ts": "2" });
    await push(given.anna, "main");
    expect(await statsOf(given.anna)).to.deep.equal({ ".ts": "66.67%", ".md": "33.33%" });
    expect(await statsOf(given.bob)).to.deep.equal({});
  });
});

describe("GET /user/push-stats/all", () => {
  it("shows all users, twenty a page, to administrators alone", async () => {
    const { body, status } = await app.get("/user/push-stats/all", { token: given.root.token });
    expect(status).to.equal(200);
    expect(body["page"]).to.deep.equal({
      size: 20,
      number: 0,
      totalElements: 1 + 2 * given.count,
      totalPages: Math.ceil((1 + 2 * given.count) / 20),
    });
    const [entry] = body["pushStats"] as Entry[];
    expect(entry!.userSimple).to.have.all.keys(
      "id,username,name,surname,fullName,avatar,cover".split(","),
    );
    const refused = await app.get("/user/push-stats/all", { token: given.anna.token });
    expect([refused.status, refused.body["code"]]).to.deep.equal([403, "auth.admin_required"]);
  });
});

describe("GET /user/push-stats/specified-users", () => {
  const at = "/user/push-stats/specified-users";

  const get = (query: string) => app.get(at + query, { token: given.root.token });

  it("shows the requested users, in that order, each once", async () => {
    const query = `?userAlias=${given.bob.alias}&userAlias=${given.anna.alias}&userAlias=${given.bob.alias}`;
    const { body } = await get(query);
    const names = (body["pushStats"] as Entry[]).map(({ userSimple }) => userSimple.username);
    expect(names).to.deep.equal([given.bob.alias, given.anna.alias]);
    expect(body["page"]).to.deep.equal({ size: 20, number: 0, totalElements: 2, totalPages: 1 });
    expect((await get(`${query}&size=1&page=1`)).body["pushStats"]).to.have.length(1);
  });

  it("is refused without a name, and with one that nobody has", async () => {
    expect((await get("")).status).to.equal(422);
    const unknown = await get("?userAlias=nobody");
    expect([unknown.status, unknown.body["code"]]).to.deep.equal([404, "user.not_found"]);
  });
});
