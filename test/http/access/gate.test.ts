import { expect } from "chai";

import type { Scope } from "../../../src/events/token/access-token.ts";
import { atLeast, neededRole, roles } from "../../../src/http/access/access.ts";
import { basicCredentials } from "../../../src/http/access/credentials.ts";
import { hasScope } from "../../../src/http/access/gate.ts";

describe("scopes", () => {
  const has = (own: Scope, needed: Scope) => hasScope(new Set([own]), needed);

  it("let who may write read, and nobody read who may write", () => {
    for (const kind of ["USER", "PROJECT", "TEAM", "COMPANY"] as const) {
      expect(has(`${kind}_WRITE`, `${kind}_READ`)).to.equal(true);
      expect(has(`${kind}_READ`, `${kind}_WRITE`)).to.equal(false);
    }
    expect(has("WRITE_REGISTRY", "READ_REGISTRY")).to.equal(true);
  });

  it("reach no other resource, and settings only by their own scope", () => {
    expect(has("USER_WRITE", "PROJECT_READ")).to.equal(false);
    expect(has("PROJECT_WRITE", "PROJECT_EDIT")).to.equal(false);
    expect(has("PROJECT_EDIT", "PROJECT_READ")).to.equal(false);
  });
});

describe("roles", () => {
  it("are ordered", () => {
    expect(roles.map((role) => atLeast(role, "DEVELOPER"))).to.deep.equal([
      false,
      false,
      true,
      true,
    ]);
    expect(atLeast(undefined, "GUEST")).to.equal(false);
  });

  it("are read from the declared access, with what they are roles in", () => {
    expect(neededRole("project:REPORTER")).to.deep.equal({ resource: "project", role: "REPORTER" });
    expect(neededRole("team:GUEST")).to.deep.equal({ resource: "team", role: "GUEST" });
    expect(neededRole("company:ADMIN")).to.deep.equal({ resource: "company", role: "ADMIN" });
    expect(neededRole("admin")).to.equal(undefined);
    expect(neededRole("project:READER")).to.deep.equal({ resource: "project", role: "GUEST" });
    expect(neededRole("admin:READER")).to.equal(undefined);
  });
});

describe("Basic credentials", () => {
  const encoded = (text: string) => `Basic ${Buffer.from(text).toString("base64")}`;

  it("are parted at the first colon", () => {
    expect(basicCredentials(encoded("anna:pass:word"))).to.deep.equal(["anna", "pass:word"]);
    expect(basicCredentials(encoded("anna:пароль"))).to.deep.equal(["anna", "пароль"]);
    expect(basicCredentials(encoded(":"))).to.deep.equal(["", ""]);
  });

  for (const header of [
    "",
    "Basic",
    "Basic !!!!",
    "token abc",
    encoded("no colon"),
    encoded("a:\0"),
    encoded(`a:${"b".repeat(600)}`),
  ]) {
    it(`are not in ${JSON.stringify(header.slice(0, 30))}`, () => {
      expect(basicCredentials(header)).to.equal(undefined);
    });
  }
});
