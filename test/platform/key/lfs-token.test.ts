import { createHmac, randomUUID } from "node:crypto";
import { expect } from "chai";

import { type LfsGrant, lfsTokens } from "../../../src/platform/key/lfs-token.ts";

const vaultOf = (secret: string) => ({
  digest: (purpose: string, text: string) =>
    createHmac("sha256", secret).update(`${purpose.length}:${purpose}${text}`).digest("hex"),
});
let now = new Date("2026-11-21T12:00:00.000Z");
const tokens = lfsTokens(vaultOf("ours"), () => now);
const grant: LfsGrant = {
  userId: randomUUID(),
  alias: "anna",
  projectId: randomUUID(),
  operation: "download",
  keyId: randomUUID(),
};

beforeEach(() => {
  now = new Date("2026-11-21T12:00:00.000Z");
});

describe("a token for LFS", () => {
  it("says again what it was issued for, until its time is over", () => {
    const { token, expiresInSeconds } = tokens.issue(grant);
    const said = { ...grant, tokenId: undefined, passwordMark: undefined };
    const endsAt = new Date(now.getTime() + expiresInSeconds * 1_000);
    expect(tokens.verify(token)).to.deep.equal({ ...said, endsAt });
    now = new Date(now.getTime() + expiresInSeconds * 1_000 - 1);
    expect(tokens.verify(token)).to.deep.equal({ ...said, endsAt });
    now = new Date(now.getTime() + 1);
    expect(tokens.verify(token)).to.equal(undefined);
  });

  it("ends no later than what it was issued for", () => {
    const endsAt = new Date(now.getTime() + 60_000);
    const { token, expiresInSeconds } = tokens.issue({ ...grant, endsAt });
    expect(expiresInSeconds).to.equal(60);
    now = endsAt;
    expect(tokens.verify(token)).to.equal(undefined);
    expect(tokens.verify(tokens.issue({ ...grant, endsAt }).token)).to.equal(undefined);
  });

  it("is not taken without the claims of today", () => {
    const claims = [Date.now(), grant.userId, "anna", grant.projectId, "download", null, null];
    const payload = Buffer.from(JSON.stringify(claims)).toString("base64url");
    const mac = Buffer.from(vaultOf("ours").digest("lfs token", payload), "hex");
    expect(tokens.verify(`lflt_${payload}.${mac.toString("base64url")}`)).to.equal(undefined);
  });

  it("holds for the operation and the project it names, and for no others when it is altered", () => {
    const { token } = tokens.issue(grant);
    const [payload = "", signature = ""] = token.slice("lflt_".length).split(".");
    const claims = Buffer.from(payload, "base64url").toString();
    for (const [from, to] of [
      ["download", "upload"],
      [grant.projectId, randomUUID()],
      [grant.userId, randomUUID()],
    ] as const) {
      const forged = Buffer.from(claims.replace(from, to)).toString("base64url");
      expect(tokens.verify(`lflt_${forged}.${signature}`), from).to.equal(undefined);
    }
  });

  it("is not taken from another instance, cut, lengthened or made up", () => {
    const { token } = tokens.issue(grant);
    const foreign = lfsTokens(vaultOf("theirs"), () => now).issue(grant).token;
    for (const wrong of [
      foreign,
      "",
      "lflt_",
      "lflt_.",
      token.slice(0, -1),
      `${token}x`,
      `${token}.x`,
      token.replace("lflt_", "lfat_"),
      tokens.issue({ ...grant, alias: "a".repeat(5_000) }).token,
    ]) {
      expect(tokens.verify(wrong), wrong).to.equal(undefined);
    }
  });
});
