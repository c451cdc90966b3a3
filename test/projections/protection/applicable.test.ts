import { expect } from "chai";
import type { Role } from "../../../src/events/core/role.ts";
import type { ProtectionLevel, ProtectionRule } from "../../../src/events/protection/protection.ts";
import {
  protectionsOf,
  reaches,
  refChangeRefused,
} from "../../../src/projections/protection/applicable.ts";

const tag = (template: string, allowToCreate: ProtectionLevel): ProtectionRule => ({
  kind: "TAG",
  template,
  allowToCreate,
});
const branch = (
  template: string,
  push: ProtectionLevel,
  merge: ProtectionLevel = push,
  allowForcePush = false,
): ProtectionRule => ({
  kind: "BRANCH",
  template,
  allowedToPush: push,
  allowedToMerge: merge,
  allowForcePush,
});

describe("what protects a ref", () => {
  it("is nothing when no rule fits its name and kind", () => {
    const rules = [tag("v*", "NO_ONE"), branch("main", "NO_ONE")];
    expect(protectionsOf(rules)("refs/heads/v1")).to.equal(null);
    expect(protectionsOf(rules)("refs/tags/main")).to.equal(null);
    expect(protectionsOf(rules)("refs/notes/main")).to.equal(null);
    expect(protectionsOf(rules)("main")).to.equal(null);
  });

  it("is the strictest of the rules that fit, whatever their order", () => {
    const rules = [tag("v*", "DEVELOPER"), tag("v1.*", "NO_ONE"), tag("**", "ADMINS")];
    for (const some of [rules, [...rules].reverse()]) {
      expect(protectionsOf(some)("refs/tags/v1.0")).to.deep.equal({
        kind: "TAG",
        allowToCreate: "NO_ONE",
      });
      expect(protectionsOf(some)("refs/tags/v2")).to.deep.equal({
        kind: "TAG",
        allowToCreate: "ADMINS",
      });
    }
  });

  it("is the strictest in each respect by itself", () => {
    const rules = [
      branch("release/**", "DEVELOPER", "NO_ONE", true),
      branch("release/*", "ADMINS", "DEVELOPER", false),
    ];
    expect(protectionsOf(rules)("refs/heads/release/1")).to.deep.equal({
      kind: "BRANCH",
      allowedToPush: "ADMINS",
      allowedToMerge: "NO_ONE",
      allowForcePush: false,
    });
    expect(protectionsOf(rules)("refs/heads/release/1/2")).to.include({ allowForcePush: true });
  });
});

describe("levels", () => {
  it("are reached by these roles", () => {
    const reaching = (level: ProtectionLevel) =>
      (["GUEST", "REPORTER", "DEVELOPER", "ADMIN"] as Role[]).filter((role) =>
        reaches(role, level),
      );
    expect(reaching("NO_ONE")).to.deep.equal([]);
    expect(reaching("ADMINS")).to.deep.equal(["ADMIN"]);
    expect(reaching("DEVELOPER")).to.deep.equal(["DEVELOPER", "ADMIN"]);
  });
});

describe("a change of a ref", () => {
  const [one, two] = ["1".repeat(40), "2".repeat(40)];
  const main = { ref: "refs/heads/main", before: one, after: two };
  const refused = (rule: ProtectionRule, role: Role, over: object = {}) =>
    refChangeRefused(protectionsOf([rule])(main.ref), role, { ...main, ...over });

  it("is free where nothing protects the ref", () => {
    expect(refChangeRefused(null, "DEVELOPER", main)).to.equal(undefined);
  });

  it("of a protected branch needs the level, and is no deletion for anybody", () => {
    expect(refused(branch("main", "ADMINS"), "DEVELOPER")).to.equal("protected branch");
    expect(refused(branch("main", "ADMINS"), "ADMIN")).to.equal(undefined);
    expect(refused(branch("main", "NO_ONE"), "ADMIN")).to.equal("protected branch");
    expect(refused(branch("main", "DEVELOPER"), "ADMIN", { after: null })).to.contain("deleted");
    expect(refused(branch("main", "ADMINS"), "DEVELOPER", { before: null })).to.contain("branch");
  });

  it("of a protected branch loses commits only where a rule lets it", () => {
    const forced = { forced: true };
    expect(refused(branch("main", "DEVELOPER"), "DEVELOPER", forced)).to.contain("forced");
    const free = branch("main", "DEVELOPER", "DEVELOPER", true);
    expect(refused(free, "DEVELOPER", forced)).to.equal(undefined);
  });

  it("of a protected tag needs the level to create, move or delete it", () => {
    const protectedTag = protectionsOf([tag("v*", "ADMINS")])("refs/tags/v1");
    for (const [before, after] of [
      [null, one],
      [one, two],
      [one, null],
    ] as const) {
      const change = { ref: "refs/tags/v1", before, after };
      expect(refChangeRefused(protectedTag, "DEVELOPER", change)).to.equal("protected tag");
      expect(refChangeRefused(protectedTag, "ADMIN", change)).to.equal(undefined);
    }
  });
});
