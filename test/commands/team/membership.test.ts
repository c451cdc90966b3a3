import { membership } from "../../../src/commands/team/membership.ts";
import { UserId } from "../../../src/events/core/ids.ts";
import type { Role } from "../../../src/events/core/role.ts";
import type { MembershipEvent } from "../../../src/events/team/membership.ts";
import { specify } from "../../support/app/decider.ts";
import { at } from "../../support/app/history.ts";

const given = specify(membership);
const owner = UserId.parse("0b9f2d3a-6f0e-4c35-8a9e-0d1f2a3b4c5d");
const bob = UserId.parse("5d1b7a90-3c2e-4f61-8b7d-9e0f1a2b3c4d");
const parent = {
  parentId: "9a8b7c6d-5e4f-4a3b-8c2d-1e0f9a8b7c6d",
  parentType: "TEAM",
} as const;

const stamp = { ...parent, ownerId: owner, by: owner, at } as const;
const add = (userId: UserId, role: Role) =>
  ({ type: "AddMember", userId, role, ...stamp }) as const;
const changeRole = (userId: UserId, role: Role) =>
  ({ type: "ChangeMemberRole", userId, role, ...stamp }) as const;
const remove = (userId: UserId) => ({ type: "RemoveMember", userId, ...stamp }) as const;

const added = (role: Role): MembershipEvent => ({
  type: "MemberAdded",
  data: { ...parent, userId: bob, role, addedById: owner, addedAt: at },
});
const changed = (role: Role, previousRole: Role): MembershipEvent => ({
  type: "MemberRoleChanged",
  data: { ...parent, userId: bob, role, previousRole, changedById: owner, changedAt: at },
});
const removed = (role: Role): MembershipEvent => ({
  type: "MemberRemoved",
  data: { ...parent, userId: bob, role, removedById: owner, removedAt: at },
});

describe("adding a member", () => {
  it("records the role and who gave it", () => {
    given().when(add(bob, "REPORTER")).gives(added("REPORTER"));
  });

  it("is refused for a member, with whatever role", () => {
    given(added("REPORTER")).when(add(bob, "REPORTER")).refuses("member.exists");
    given(added("REPORTER")).when(add(bob, "ADMIN")).refuses("member.exists");
  });

  it("is refused for the owner, who is an ADMIN already", () => {
    given().when(add(owner, "ADMIN")).refuses("member.exists");
  });

  it("works again after the member was removed", () => {
    given(added("GUEST"), removed("GUEST")).when(add(bob, "ADMIN")).gives(added("ADMIN"));
  });
});

describe("admitting an invited user", () => {
  const admit = (userId: UserId, role: Role) =>
    ({ type: "AdmitMember", userId, role, ...stamp }) as const;

  it("gives the higher of the role held and the role offered", () => {
    given().when(admit(bob, "REPORTER")).gives(added("REPORTER"));
    given(added("GUEST")).when(admit(bob, "ADMIN")).gives(changed("ADMIN", "GUEST"));
    for (const role of ["GUEST", "REPORTER"] as const) {
      given(added("REPORTER")).when(admit(bob, role)).givesNothing();
    }
    given().when(admit(owner, "GUEST")).givesNothing();
  });
});

describe("changing a member's role", () => {
  it("records it before and after, once", () => {
    given(added("GUEST")).when(changeRole(bob, "ADMIN")).gives(changed("ADMIN", "GUEST"));
    given(added("GUEST"), changed("ADMIN", "GUEST")).when(changeRole(bob, "ADMIN")).givesNothing();
  });

  it("never demotes the owner, with or without other administrators", () => {
    given().when(changeRole(owner, "GUEST")).refuses("member.owner");
    given(added("ADMIN")).when(changeRole(owner, "DEVELOPER")).refuses("member.owner");
    given().when(changeRole(owner, "ADMIN")).givesNothing();
  });

  it("is refused for a user who is no member", () => {
    given().when(changeRole(bob, "GUEST")).refuses("member.not_found");
  });
});

describe("removing a member", () => {
  it("records the role that is lost", () => {
    given(added("GUEST"), changed("ADMIN", "GUEST")).when(remove(bob)).gives(removed("ADMIN"));
  });

  it("is refused for the owner and for a user who is no member", () => {
    given(added("ADMIN")).when(remove(owner)).refuses("member.owner");
    given(added("GUEST"), removed("GUEST")).when(remove(bob)).refuses("member.not_found");
  });
});
