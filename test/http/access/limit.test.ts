import { randomUUID } from "node:crypto";
import { expect } from "chai";
import { codeOf } from "../../support/app/answer.ts";
import { startTestApp } from "../../support/app/app.ts";
import { basicAuth } from "../../support/app/basic-auth.ts";

const app = await startTestApp();
const root = await app.givenUser("root", { admin: true });
const anna = await app.givenUser("anna");

const set = (group: string, body: unknown) =>
  app.post(`/admin/settings/${group}`, { token: root.token, body });
const basic = (login: string, password: string) => ({
  authorization: basicAuth(login, password),
});
const logIn = (login: string, password: string) =>
  app.post("/user/settings/access-token/create", {
    headers: basic(login, password),
    body: { name: randomUUID(), scopes: ["USER_READ"] },
  });

describe("the API limit", () => {
  after(() => set("api-limit", { enableApiLimit: false }));

  it("counts each user's requests exactly, shows the count on each answer, and then answers 429", async () => {
    const greta = await app.givenUser("greta");
    await set("api-limit", { enableApiLimit: true, userApiCountLimit: 5 });
    const answers = await Promise.all(
      Array.from({ length: 8 }, () => app.get("/user/me", { token: greta.token })),
    );
    const statuses = answers.map(({ status }) => status).sort();
    expect(statuses).to.deep.equal([200, 200, 200, 200, 200, 429, 429, 429]);
    const left = answers.map(({ headers }) => headers.get("ratelimit-remaining")).sort();
    expect(left).to.deep.equal(["0", "0", "0", "0", "1", "2", "3", "4"]);

    const over = answers.find(({ status }) => status === 429);
    expect(over?.body).to.include({ status: 429, code: "api.limit_exceeded" });
    expect(over?.headers.get("ratelimit-limit")).to.equal("5");
    const seconds = Number(over?.headers.get("retry-after"));
    expect(seconds).to.be.within(3_000, 3_600);
    expect(over?.headers.get("ratelimit-reset")).to.equal(String(seconds));

    const other = await app.get("/user/me", { token: anna.token });
    expect(other.headers.get("ratelimit-remaining")).to.equal("4");
  });

  it("says nothing when it is off", async () => {
    await set("api-limit", { enableApiLimit: false });
    const { status, headers } = await app.get("/user/me", { token: anna.token });
    expect([status, headers.get("ratelimit-limit")]).to.deep.equal([200, null]);
  });
});

describe("the lockout", () => {
  const locked = [403, "auth.locked"];
  const wrong = [403, "auth.credentials_invalid"];
  const tryWrong = async (login: string) => codeOf(await logIn(login, "wrong password"));

  before(() =>
    set("lock-account", {
      lockUser: true,
      maxAttempts: 3,
      timeToLockUser: 1,
      timeToCountFailUserLoginAttempts: 60,
    }),
  );

  it("locks the account after so many wrong passwords, however it is named", async () => {
    const ines = await app.givenUser("ines");
    for (const login of ["ines", "INES", "Ines@Example.org"]) {
      expect(await tryWrong(login)).to.deep.equal(wrong);
    }
    const answer = await logIn("ines", ines.password);
    expect(codeOf(answer)).to.deep.equal(locked);
    expect(Number(answer.headers.get("retry-after"))).to.be.within(1, 60);
    expect(await tryWrong("ines@example.org")).to.deep.equal(locked);
    // Tokens are no passwords: guessing attempts do not lock out a valid one.
    expect((await app.get("/user/me", { token: ines.token })).status).to.equal(200);
    const git = await app.get("/project/ines/some.git/info/refs?service=git-upload-pack", {
      headers: basic("ines", ines.password),
    });
    expect(codeOf(git)).to.deep.equal(locked);
  });

  it("locks what does not exist in the same way", async () => {
    for (let n = 0; n < 3; n += 1) expect(await tryWrong("nobody-here")).to.deep.equal(wrong);
    expect(await tryWrong("NOBODY-here")).to.deep.equal(locked);
  });

  it("is not dodged by many attempts at once", async () => {
    await app.givenUser("jana");
    const answers = await Promise.all(Array.from({ length: 6 }, () => tryWrong("jana")));
    const counts = answers.map(([, code]) => code);
    expect(counts.filter((code) => code === "auth.credentials_invalid")).to.have.length(3);
    expect(counts.filter((code) => code === "auth.locked")).to.have.length(3);
  });

  it("starts its count anew with the right password", async () => {
    const kira = await app.givenUser("kira");
    for (let round = 0; round < 3; round += 1) {
      expect(await tryWrong("kira")).to.deep.equal(wrong);
      expect(await tryWrong("kira")).to.deep.equal(wrong);
      expect((await logIn("kira", kira.password)).status).to.equal(200);
    }
  });

  it("takes right passwords at once for what they are", async () => {
    const lena = await app.givenUser("lena");
    const answers = await Promise.all(
      Array.from({ length: 5 }, () => logIn("lena", lena.password)),
    );
    expect(answers.map(({ status }) => status)).to.deep.equal([200, 200, 200, 200, 200]);
  });

  it("guards the old password of a change too", async () => {
    const mara = await app.givenUser("mara");
    const renew = async () =>
      codeOf(
        await app.put("/user/change-password", {
          token: mara.token,
          body: { oldPassword: "no", password: "12345678", passwordConfirm: "12345678" },
        }),
      );
    for (let n = 0; n < 3; n += 1) expect(await renew()).to.deep.equal([422, "password.wrong"]);
    expect(await renew()).to.deep.equal(locked);
  });

  it("ends when it is switched off", async () => {
    await set("lock-account", { lockUser: false });
    expect(await tryWrong("ines")).to.deep.equal(wrong);
    const nora = await app.givenUser("nora");
    for (let n = 0; n < 4; n += 1) expect(await tryWrong("nora")).to.deep.equal(wrong);
    expect((await logIn("nora", nora.password)).status).to.equal(200);
  });
});
