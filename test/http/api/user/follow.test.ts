import { expect } from "chai";

import { startTestApp } from "../../../support/app/app.ts";

const app = await startTestApp();
const anna = await app.givenUser("anna");
const boris = await app.givenUser("boris");
const clara = await app.givenUser("clara");

const followers = (query = "") => app.get(`/user/anna/followers${query}`, { token: boris.token });

describe("followers", () => {
  before(async () => {
    for (const { token } of [boris, clara]) {
      expect((await app.post("/user/anna/follow", { token })).status).to.equal(200);
    }
    await app.post("/user/clara/follow", { token: boris.token });
    await app.put("/user/profile", { token: clara.token, body: { name: "Clara", surname: "C" } });
  });

  it("are a page with every field", async () => {
    const { status, body } = await followers("?size=1");
    expect(status).to.equal(200);
    const sort = { sorted: false, unsorted: true, empty: true };
    const [entry] = body["content"] as Record<string, unknown>[];
    expect(body).to.deep.equal({
      content: [entry],
      pageable: { sort, offset: 0, pageNumber: 0, pageSize: 1, paged: true, unpaged: false },
      last: false,
      first: true,
      totalElements: 2,
      totalPages: 2,
      size: 1,
      number: 0,
      sort,
      numberOfElements: 1,
      empty: false,
    });
    const { id, createdAt, registrationDateString, ...rest } = entry ?? {};
    expect(rest).to.deep.equal({
      username: "clara",
      name: "Clara",
      surname: "C",
      fullName: "Clara C",
      avatar: "",
      company: null,
      subscribed: true,
    });
    expect(Number.isSafeInteger(id)).to.equal(true);
    expect(createdAt).to.match(/^\d{4}-\d\d-\d\dT[\d:]{8}\.\d{3}Z$/);
    expect(registrationDateString).to.equal(String(createdAt).slice(0, 10));
  });

  it("come twelve a page, and the page after the last is empty", async () => {
    expect((await followers()).body).to.include({ size: 12, last: true, totalPages: 1 });
    const beyond = (await followers("?page=7")).body;
    expect(beyond).to.include({ empty: true, first: false, last: true, numberOfElements: 0 });
    expect((await followers("?page=-1")).status).to.equal(422);
  });

  it("are seen from the other side too", async () => {
    const { body } = await app.get("/user/following/boris", { token: anna.token });
    const names = (body["content"] as { username: string }[]).map(({ username }) => username);
    expect(names).to.deep.equal(["clara", "anna"]);
  });

  it("can leave, once and again", async () => {
    for (let time = 0; time < 2; time += 1) {
      const { status } = await app.delete("/user/anna/follow", { token: clara.token });
      expect(status).to.equal(200);
    }
    expect((await followers()).body).to.include({ totalElements: 1 });
  });

  it("belong to an existing user, and not oneself", async () => {
    const { token } = anna;
    expect((await app.post("/user/nobody/follow", { token })).status).to.equal(404);
    expect((await app.get("/user/nobody/followers", { token })).status).to.equal(404);
    expect((await app.get("/user/following/nobody", { token })).status).to.equal(404);
    const self = await app.post("/user/anna/follow", { token });
    expect(self.body).to.include({ status: 422, code: "follow.self" });
  });
});

describe("the projects of a user", () => {
  it("are the public ones, with every field", async () => {
    const search = await app.givenProject(anna, "search", { private: false });
    await app.givenProject(anna, "secret");
    const { body } = await app.get("/user/anna/projects", { token: boris.token });
    expect(body).to.deep.equal({
      _embedded: {
        projectList: [
          {
            id: search.id,
            title: "search",
            description: "",
            alias: "search",
            ownerAlias: "anna",
            httpTransportUrl: `${app.url}/project/anna/search.git`,
            sshTransportUrl: "git@127.0.0.1:anna/search.git",
            language: "",
            selectorTitle: "search",
            private: false,
            selectorOwnerAlias: "anna",
            selectorId: search.id,
            selectorAlias: "search",
            isDeleted: false,
            hexColor: null,
            selectorColor: null,
            selectorHash: null,
          },
        ],
      },
      page: { size: 10, totalElements: 1, totalPages: 1, number: 0 },
    });
  });

  it("are 404 for an unknown user", async () => {
    expect((await app.get("/user/nobody/projects", { token: anna.token })).status).to.equal(404);
  });
});
