import { expect } from "chai";

import { returnPath } from "../../../src/http/access/return-to.ts";

const back = (text: unknown) => returnPath(text, "/console");

describe("the address to return to after a login", () => {
  it("is a path of the service, with its query", () => {
    for (const path of ["/console", "/oauth/authorize?client_id=a&state=%2F%2Fx", "/a/b?x=//y"]) {
      expect(back(path)).to.equal(path);
    }
  });

  it("is never another site", () => {
    const elsewhere = [
      "//evil.example",
      "///evil.example",
      "/\\evil.example",
      "/\\/evil.example",
      "\\\\evil.example",
      "/\t/evil.example",
      "/\n/evil.example",
      "/\r\n/evil.example",
      "\t//evil.example",
      " //evil.example",
      "/.//evil.example",
      "/..//evil.example",
      "/%2e//evil.example",
      "/x/..//evil.example",
      "https://evil.example",
      "HTTPS:evil.example",
      "javascript:alert(1)",
      "data:text/html,x",
      "@evil.example",
      "evil.example",
      ".evil.example",
      ":@evil.example",
      "",
      `/${"x".repeat(9_000)}`,
      null,
      undefined,
      ["/console"],
      { toString: () => "/console" },
    ];
    for (const text of elsewhere) expect(back(text), JSON.stringify(text)).to.equal("/console");
  });

  it("is a host for no browser that reads it again", () => {
    for (const text of [
      "/@evil.example",
      "/a\\..\\..//x",
      "/%5c%5cevil.example",
      "/%09/evil.example",
    ]) {
      const read = new URL(back(text), "https://forge.example");
      expect(read.origin, text).to.equal("https://forge.example");
    }
  });
});
