import { expect } from "chai";
import { settingsDefaults } from "../../../../src/events/instance/settings.ts";
import { startTestApp, type TestUser } from "../../../support/app/app.ts";
import { basicAuth } from "../../../support/app/basic-auth.ts";

const app = await startTestApp();

describe("a blob that was read before", () => {
  let anna: TestUser;
  let blob: string;
  let count = 0;

  before(async () => {
    anna = await app.givenUser("anna");
    await app.givenProject(anna, "kept");
    const actions = [{ action: "CREATE", path: "a.txt", content: "a\n" }];
    const body = { branch: "main", message: "One", actions };
    const made = await app.post("/project/anna/kept/commit", { token: anna.token, body });
    expect(made.status).to.equal(200);
    blob = `/project/anna/kept/blob?commitHash=${made.body["hash"]}&file=a.txt`;
  });

  const statusFor = async (token: string) => (await app.get(blob, { token })).status;
  const reader = async (): Promise<TestUser> => {
    count += 1;
    const user = await app.givenUser(`reader-${count}`);
    const body = { userAlias: user.alias, role: "GUEST" };
    await app.post("/project/anna/kept/member/invite", { token: anna.token, body });
    for (const _again of "123") expect(await statusFor(user.token)).to.equal(200);
    return user;
  };

  it("is refused from the answer on that takes the role", async () => {
    for (let round = 0; round < 5; round += 1) {
      const { alias, token } = await reader();
      await app.delete(`/project/anna/kept/member/${alias}`, { token: anna.token });
      expect(await statusFor(token)).to.equal(403);
    }
  });

  it("is refused from the answer on that revokes the token", async () => {
    const { token, alias, password } = await reader();
    const basic = basicAuth(alias, password);
    const made = await app.post("/user/settings/access-token/create", {
      headers: { authorization: basic },
      body: { name: "second", scopes: ["PROJECT_READ"] },
    });
    const second = String(made.body["token"]);
    for (const _again of "12") expect(await statusFor(second)).to.equal(200);
    const revoked = await app.delete("/user/settings/access-token/second", { token });
    expect(revoked.status).to.equal(200);
    expect(await statusFor(second)).to.equal(403);
    expect(await statusFor(token)).to.equal(200);
  });

  it("counts against the limit of requests as soon as there is one", async () => {
    const { token } = await reader();
    const admin = await app.givenUser("root", { admin: true });
    const body = { enableApiLimit: true, userApiCountLimit: 3 };
    const set = await app.post("/admin/settings/api-limit", { token: admin.token, body });
    expect(set.status).to.equal(200);
    const statuses: number[] = [];
    for (const _again of "12345") statuses.push(await statusFor(token));
    expect(statuses).to.deep.equal([200, 200, 200, 429, 429]);
    await app.post("/admin/settings/api-limit", { token: admin.token, body: settingsDefaults });
  });
});
