import { randomUUID } from "node:crypto";
import { expect } from "chai";

import type { AnyEvent } from "../../../src/events/core/event.ts";
import type { ParentType, Role } from "../../../src/events/core/role.ts";
import { membershipStream } from "../../../src/events/team/membership.ts";
import { highestRole, memberProjection } from "../../../src/projections/team/member.ts";
import { companyRole, projectRole, teamRole } from "../../../src/projections/team/member-role.ts";
import { at, history } from "../../support/app/history.ts";
import { context, project, reset } from "../../support/app/projection.ts";
import { testDatabase } from "../../support/store/database.ts";

const { db } = await testDatabase();

const [anna, bob, carol] = [randomUUID(), randomUUID(), randomUUID()];
const [acme, tools, search] = [randomUUID(), randomUUID(), randomUUID()];

const added = (parentId: string, parentType: ParentType, userId: string, role: Role) =>
  [
    membershipStream(parentId),
    {
      type: "MemberAdded",
      data: { parentId, parentType, userId, role, addedById: anna, addedAt: at },
    },
  ] as const;
const later = (type: "MemberRoleChanged" | "MemberRemoved", parentId: string, role: Role) => {
  const common = { parentId, parentType: "TEAM", userId: bob, role };
  const changed = { previousRole: "GUEST", changedById: anna, changedAt: at };
  const removed = { removedById: anna, removedAt: at };
  const data = { ...common, ...(type === "MemberRemoved" ? removed : changed) };
  return [membershipStream(parentId), { type, data }] as const;
};
const given = (...events: readonly (readonly [string, AnyEvent])[]) =>
  project(db, memberProjection, history(...events), context);

/** Project search, of team tools, of company acme, of anna. */
const place = {
  id: search as never,
  owner_id: tools,
  owner_company_id: acme,
  owner_user_id: anna,
  is_private: true,
};
const team = { ...place, id: tools as never };
const company = { id: acme as never, owner_id: anna as never, is_private: true };

describe("roles", () => {
  beforeEach(() => reset(db, memberProjection));

  it("make the ultimate owner an ADMIN of everything below", async () => {
    expect(await projectRole(db, place, anna)).to.equal("ADMIN");
    expect(await teamRole(db, team, anna)).to.equal("ADMIN");
    expect(await companyRole(db, company, anna)).to.equal("ADMIN");
  });

  it("are the highest of project, team and company", async () => {
    await given(added(search, "PROJECT", bob, "GUEST"), added(acme, "COMPANY", carol, "REPORTER"));
    expect(await projectRole(db, place, bob)).to.equal("GUEST");
    await given(added(tools, "TEAM", bob, "DEVELOPER"));
    await reset(db, memberProjection);
    await given(
      added(search, "PROJECT", bob, "GUEST"),
      added(tools, "TEAM", bob, "DEVELOPER"),
      added(acme, "COMPANY", bob, "REPORTER"),
    );
    expect(await projectRole(db, place, bob)).to.equal("DEVELOPER");
    expect(await teamRole(db, team, bob)).to.equal("DEVELOPER");
    expect(await companyRole(db, company, bob)).to.equal("REPORTER");
  });

  it("reach down from a company to its teams and their projects, and never up", async () => {
    await given(added(acme, "COMPANY", bob, "ADMIN"), added(search, "PROJECT", carol, "ADMIN"));
    expect(await projectRole(db, place, bob)).to.equal("ADMIN");
    expect(await teamRole(db, team, bob)).to.equal("ADMIN");
    expect(await projectRole(db, place, carol)).to.equal("ADMIN");
    expect(await teamRole(db, team, carol)).to.equal(undefined);
    expect(await companyRole(db, company, carol)).to.equal(undefined);
  });

  it("are none for strangers and members of something else", async () => {
    await given(added(randomUUID(), "PROJECT", bob, "ADMIN"));
    expect(await projectRole(db, place, bob)).to.equal(undefined);
    expect(await projectRole(db, place, null)).to.equal(undefined);
  });

  it("make everybody a guest of what is public, and members what they are", async () => {
    await given(added(search, "PROJECT", carol, "DEVELOPER"));
    const open = { ...place, is_private: false };
    expect(await projectRole(db, open, bob)).to.equal("GUEST");
    expect(await projectRole(db, open, null)).to.equal("GUEST");
    expect(await projectRole(db, open, carol)).to.equal("DEVELOPER");
  });

  it("follow changes and end with the membership", async () => {
    const first = added(tools, "TEAM", bob, "GUEST");
    const promoted = later("MemberRoleChanged", tools, "ADMIN");
    await given(first, promoted);
    expect(await teamRole(db, team, bob)).to.equal("ADMIN");
    await reset(db, memberProjection);
    await given(first, promoted, later("MemberRemoved", tools, "ADMIN"));
    expect(await teamRole(db, team, bob)).to.equal(undefined);
    expect(await highestRole(db, bob, [tools])).to.equal(undefined);
  });

  it("are found by one read of one index", async () => {
    const { rows } = await db.transaction(async (tx) => {
      await tx.raw("set local enable_seqscan = off");
      return tx.raw<{ rows: { "QUERY PLAN": string }[] }>(
        "explain select max(role_rank) from member where user_id = ? and parent_id in (?, ?, ?)",
        [bob, search, tools, acme],
      );
    });
    const plan = rows.map((row) => row["QUERY PLAN"]).join("\n");
    expect(plan).to.match(/Index (?:Only )?Scan|Bitmap Index Scan on member_pkey/);
  });
});
