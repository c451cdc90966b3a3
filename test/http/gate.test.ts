import { expect } from "chai";

import type { Scope } from "../../src/events/access-token.ts";
import { atLeast, neededRole, roles } from "../../src/http/access.ts";
import { basicCredentials } from "../../src/http/authenticate.ts";
import { hasScope } from "../../src/http/gate.ts";
import { roleIn } from "../../src/http/project-access.ts";
import type { ProjectRow } from "../../src/projections/project.ts";

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
  const project = { owner_id: "u1", owner_type: "USER", is_private: true } as ProjectRow;

  it("are ordered", () => {
    expect(roles.map((role) => atLeast(role, "DEVELOPER"))).to.deep.equal([
      false,
      false,
      true,
      true,
    ]);
    expect(atLeast(undefined, "GUEST")).to.equal(false);
    expect(neededRole("project:REPORTER")).to.equal("REPORTER");
    expect(neededRole("admin")).to.equal(undefined);
  });

  it("make the owner ADMIN and everybody else a guest of what is public", () => {
    expect(roleIn(project, "u1")).to.equal("ADMIN");
    expect(roleIn(project, "u2")).to.equal(undefined);
    expect(roleIn(project, null)).to.equal(undefined);
    expect(roleIn({ ...project, is_private: false }, "u2")).to.equal("GUEST");
    expect(roleIn({ ...project, is_private: false }, null)).to.equal("GUEST");
    expect(roleIn({ ...project, owner_type: "TEAM" }, "u1")).to.equal(undefined);
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
