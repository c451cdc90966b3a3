import { expect } from "chai";
import { startTestApp } from "../support/app/app.ts";
import { basicAuth } from "../support/app/basic-auth.ts";

/**
 * Family 19, accounts: an old password does not come back, every token can be revoked, and an
 * administrator's script acts on the person it names.
 */
const app = await startTestApp();
const root = await app.givenUser("root", { admin: true });
const anna = await app.givenUser("anna");

const basic = (login: string, password: string) => ({
  authorization: basicAuth(login, password),
});

describe("archived passwords", () => {
  it("are the current one and as many before it as the settings say", async () => {
    const archive = (body: object) =>
      app.post("/admin/settings/archive-password", { token: root.token, body });
    const bea = await app.givenUser("bea");
    let oldPassword = bea.password;
    const change = async (password: string) => {
      const body = { oldPassword, password, passwordConfirm: password };
      const answer = await app.put("/user/change-password", { token: bea.token, body });
      if (answer.status === 200) oldPassword = password;
      return answer.body["code"] ?? answer.status;
    };
    await archive({ enableArchiveUserPasswords: true, maxUserArchivedPasswords: 1 });
    expect(await change(bea.password), "the current one").to.equal("password.archived");
    expect(await change("second password")).to.equal(200);
    expect(await change(bea.password), "the one before it").to.equal("password.archived");
    expect(await change("third password")).to.equal(200);
    expect(await change(bea.password), "an older one").to.equal(200);
    await archive({ maxUserArchivedPasswords: 0 });
    expect(await change(bea.password), "the current one").to.equal("password.archived");
    expect(await change("third password")).to.equal(200);
    await archive({ enableArchiveUserPasswords: false });
  });
});

describe("names of tokens", () => {
  for (const name of [".", "..", " .. ", "a/b", "/"]) {
    it(`may not be named "${name}", which no path could revoke`, async () => {
      const headers = basic("anna", anna.password);
      const body = { name, scopes: ["READ_REGISTRY"] };
      for (const kind of ["access", "transport"]) {
        const at = `/user/settings/${kind}-token/create`;
        const credentials = kind === "access" ? { headers } : { token: anna.token };
        const answer = await app.post(at, { ...credentials, body });
        expect(answer.status).to.equal(422);
        expect(answer.body["errors"]).to.containSubset([{ field: "name" }]);
      }
    });
  }

  it("may be named with dots, and are revoked by that name", async () => {
    for (const name of ["...", ".env", "v1.2", "a b%2F"]) {
      const body = { name, scopes: ["READ_REGISTRY"] };
      const made = await app.post("/user/settings/transport-token/create", {
        token: anna.token,
        body,
      });
      expect(made.status, made.text).to.equal(200);
      const at = `/user/settings/transport-token/${encodeURIComponent(name)}`;
      expect((await app.delete(at, { token: anna.token })).status).to.equal(200);
    }
  });
});

describe("the search of administrators", () => {
  const found = async (query: string) => {
    const { body } = await app.get(`/admin/user?${query}`, { token: root.token });
    const { restUserAdminModelList: list } = body["_embedded"] as {
      restUserAdminModelList: { username: string }[];
    };
    return list.map(({ username }) => username);
  };

  it("finds users by their whole e-mail and alias, and by parts only on request", async () => {
    const [whole, longer] = ["carl", "not-carl"];
    for (const alias of [longer, whole]) await app.givenUser(alias);
    expect(await found(`username=${whole.toUpperCase()}`)).to.deep.equal([whole]);
    expect(await found(`email=${whole.toUpperCase()}%40example.ORG`)).to.deep.equal([whole]);
    expect(await found(`email=${whole}%40example.org&username=${longer}`)).to.deep.equal([]);
    // Clients fill both places of the documented address; an empty one is no filter.
    expect(await found(`email=&username=${whole}`)).to.deep.equal([whole]);
    for (const query of ["email=example.org", "email=%25", "username=car", "email=%20"]) {
      expect(await found(query), query).to.deep.equal([]);
    }
    expect(await found(`q=${whole}`)).to.deep.equal([longer, whole]);
    expect(await found(`q=${whole}&username=${whole}`)).to.deep.equal([whole]);
  });
});
