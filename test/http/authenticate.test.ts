import { expect } from "chai";

import { newToken } from "../../src/platform/token.ts";
import { startTestApp } from "../support/app.ts";

const app = await startTestApp();

describe("authentication", () => {
  it("takes a token by either scheme", async () => {
    const { token } = await app.givenUser("anna");
    for (const scheme of ["token", "Token", "Bearer", "bearer"]) {
      const answer = await app.get("/user/me", {
        headers: { authorization: `${scheme} ${token}` },
      });
      expect(answer.status, scheme).to.equal(200);
      expect(answer.body).to.include({ username: "anna", email: "anna@example.org" });
    }
  });

  it("takes nothing else", async () => {
    const { token } = await app.givenUser("nick");
    for (const authorization of [
      "",
      token,
      "token",
      "token ",
      `token ${token} ${token}`,
      `token ${token.slice(0, -1)}`,
      `token ${newToken("lfat")}`,
      `Basic ${Buffer.from(`nick:${token}`).toString("base64")}`,
      "token ' or 1=1 --",
    ]) {
      const answer = await app.get("/user/me", { headers: { authorization } });
      expect(answer.status, authorization).to.equal(403);
      expect(answer.body["code"], authorization).to.equal("auth.token_invalid");
    }
    const inQuery = await app.get(`/user/me?token=${token}&access_token=${token}`);
    expect(inQuery.status).to.equal(403);
  });
});
