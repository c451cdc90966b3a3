import { team } from "../../../src/commands/team/team.ts";
import { Alias, TeamId, UserId } from "../../../src/events/core/ids.ts";
import type { TeamEvent } from "../../../src/events/team/team.ts";
import { specify } from "../../support/app/decider.ts";
import { at } from "../../support/app/history.ts";

const given = specify(team);
const by = UserId.parse("0b9f2d3a-6f0e-4c35-8a9e-0d1f2a3b4c5d");
const acme = "c0ffee00-1111-4222-8333-444455556666";

const details = { title: "Tools", description: null, private: true, avatar: null };
const facts = {
  teamId: TeamId.parse("9a8b7c6d-5e4f-4a3b-8c2d-1e0f9a8b7c6d"),
  ownerId: by,
  ownerType: "USER",
  alias: Alias.parse("tools"),
  details,
} as const;
const created: TeamEvent = {
  type: "TeamCreated",
  data: { ...facts, createdById: by, createdAt: at },
};
const deleted: TeamEvent = { type: "TeamDeleted", data: { deletedById: by, deletedAt: at } };
const transferred = (ownerId: string, previousOwnerId: string): TeamEvent => ({
  type: "TeamTransferred",
  data: {
    ownerId,
    ownerType: ownerId === acme ? "COMPANY" : "USER",
    previousOwnerId,
    previousOwnerType: previousOwnerId === acme ? "COMPANY" : "USER",
    transferredById: by,
    transferredAt: at,
  },
});

describe("creating a team", () => {
  const create = { type: "CreateTeam", ...facts, by, at } as const;

  it("records what it is and who made it", () => {
    given().when(create).gives(created);
  });

  it("is refused a second time, also after it was deleted", () => {
    given(created).when(create).refuses("team.exists");
    given(created, deleted).when(create).refuses("team.exists");
  });
});

describe("changing the details of a team", () => {
  const changing = (over: Partial<typeof details>) =>
    ({ type: "ChangeDetails", details: over, by, at }) as const;

  it("records them before and after, and keeps what was not given", () => {
    const after = { ...details, title: "Tooling" };
    const changed: TeamEvent = {
      type: "TeamDetailsChanged",
      data: { details: after, previous: details, changedById: by, changedAt: at },
    };
    given(created)
      .when(changing({ title: "Tooling" }))
      .gives(changed);
    given(created, changed)
      .when(changing({ title: "Tooling" }))
      .givesNothing();
  });

  it("does nothing when they are the same already", () => {
    given(created).when(changing({})).givesNothing();
    given(created)
      .when(changing({ title: "Tools", private: true }))
      .givesNothing();
  });

  it("is refused without a team", () => {
    given().when(changing({})).refuses("team.not_found");
    given(created, deleted).when(changing({})).refuses("team.not_found");
  });
});

describe("changing the alias of a team", () => {
  const to = (alias: string) =>
    ({ type: "ChangeAlias", alias: Alias.parse(alias), by, at }) as const;

  it("records both aliases, once", () => {
    const changed: TeamEvent = {
      type: "TeamAliasChanged",
      data: {
        alias: Alias.parse("tooling"),
        previousAlias: facts.alias,
        changedById: by,
        changedAt: at,
      },
    };
    given(created).when(to("tooling")).gives(changed);
    given(created, changed).when(to("tooling")).givesNothing();
  });
});

describe("transferring a team", () => {
  it("records the owner before and after", () => {
    const toAcme = {
      type: "TransferTeam",
      ownerId: acme,
      ownerType: "COMPANY",
      by,
      at,
    } as const;
    given(created).when(toAcme).gives(transferred(acme, by));
    given(created, transferred(acme, by)).when(toAcme).givesNothing();
    given(created, transferred(acme, by))
      .when({ ...toAcme, ownerId: by, ownerType: "USER" })
      .gives(transferred(by, acme));
  });

  it("is refused when its owner has changed since the offer", () => {
    const toAcme = { type: "TransferTeam", ownerId: acme, ownerType: "COMPANY", by, at } as const;
    given(created)
      .when({ ...toAcme, fromOwnerId: acme })
      .refuses("team.changed");
    given(created)
      .when({ ...toAcme, fromOwnerId: by })
      .gives(transferred(acme, by));
  });
});

describe("deleting a team", () => {
  const remove = { type: "DeleteAliasHolder", by, at } as const;

  it("is recorded once", () => {
    given(created).when(remove).gives(deleted);
    given(created, deleted).when(remove).givesNothing();
    given().when(remove).refuses("team.not_found");
  });
});
