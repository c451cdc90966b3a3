import { expect } from "chai";

import { hashToken, isToken, newToken } from "../../../src/platform/key/token.ts";

describe("a token", () => {
  const token = newToken("lfat");

  it("has a prefix, 256 random bits and a checksum, at one length", () => {
    expect(token).to.match(/^lfat_[0-9A-Za-z]{49}$/);
    expect(newToken("lftt", Buffer.alloc(32))).to.match(/^lftt_0{43}[0-9A-Za-z]{6}$/);
    expect(newToken("lfrt", Buffer.alloc(32, 0xff))).to.have.length(54);
    expect(new Set(Array.from({ length: 100 }, () => newToken("lfat"))).size).to.equal(100);
  });

  it("is known by its checksum", () => {
    expect(isToken(token)).to.equal(true);
    for (const wrong of [
      "",
      token.slice(0, -1),
      `${token}a`,
      token.toLowerCase(),
      token.replace("lfat", "lftt"),
      ` ${token}`,
      `${token}\n`,
      `${token.slice(0, 20)}${token[20] === "a" ? "b" : "a"}${token.slice(21)}`,
      `ghp_${token.slice(5)}`,
    ]) {
      expect(isToken(wrong), wrong).to.equal(false);
    }
  });

  it("is kept as a hash only", () => {
    expect(hashToken(token)).to.match(/^[0-9a-f]{64}$/);
    expect(hashToken(token)).to.equal(hashToken(token));
  });

  it("comes out the same of the same bytes, so that a repeated request gives it again", () => {
    const bytes = Buffer.alloc(32, 7);
    expect(newToken("lfat", bytes)).to.equal(newToken("lfat", bytes));
    expect(() => newToken("lfat", Buffer.alloc(31))).to.throw("32 bytes");
  });
});
