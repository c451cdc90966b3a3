import { expect } from "chai";

import type { AnyEvent, Recorded } from "../../../src/events/core/event.ts";
import { projectStream } from "../../../src/events/project/project.ts";
import {
  type ProtectionRule,
  protectionStream,
} from "../../../src/events/protection/protection.ts";
import { teamStream } from "../../../src/events/team/team.ts";
import { deterministicId } from "../../../src/platform/deterministic-id.ts";
import { protectionProjection } from "../../../src/projections/protection/protection.ts";
import { at, history } from "../../support/app/history.ts";
import { context, project, reset, rowsOf } from "../../support/app/projection.ts";
import { testDatabase } from "../../support/store/database.ts";

const { db } = await testDatabase();
const by = deterministicId("user");
const company = deterministicId("company");
const team = deterministicId("team");
const applyId = deterministicId("apply");
const aboveId = deterministicId("rule above");
const above: ProtectionRule = { kind: "TAG", template: "v*", allowToCreate: "ADMINS" };

type Written = readonly [string, AnyEvent];

const projectOf = (id: string, ownerId: string): Written => [
  projectStream(id),
  {
    type: "ProjectCreated",
    data: {
      ...{
        projectId: id,
        ownerId,
        ownerType: "TEAM",
        alias: "below",
        title: "T",
        description: null,
      },
      ...{ language: null, private: true, defaultBranch: "main", createdById: by, createdAt: at },
    },
  },
];
const teamCreated: Written = [
  teamStream(team),
  {
    type: "TeamCreated",
    data: {
      ...{ teamId: team, ownerId: company, ownerType: "COMPANY", alias: "tools" },
      details: { title: "T", description: null, private: true, avatar: null },
      ...{ createdById: by, createdAt: at },
    },
  },
];
const ruleOf = (ruleId: string, parentId: string, rule: ProtectionRule): Written => [
  protectionStream(parentId),
  {
    type: "ProtectionRuleCreated",
    data: { ruleId, parentId, parentType: "PROJECT", rule, createdById: by, createdAt: at },
  },
];
const apply = (id = applyId, over: object = {}): Written => [
  protectionStream(company),
  {
    type: "ProtectionApplyRequested",
    data: {
      ...{ applyId: id, parentId: company, parentType: "COMPANY", kind: "TAG" },
      ...{ requestedById: by, requestedAt: at, ...over },
    },
  },
];

const rulesOf = (parentId: string) =>
  db("protection_rule").where("parent_id", parentId).orderBy("template").select("id", "rule");
const run = async (events: readonly Recorded[]) => {
  await reset(db, protectionProjection);
  await project(db, protectionProjection, events, context);
};

describe("applying rules of a company to its projects", () => {
  const [direct, inTeam, foreign] = ["direct", "in team", "foreign"].map((name) =>
    deterministicId(name),
  ) as [string, string, string];
  const world = [
    projectOf(direct, company),
    teamCreated,
    projectOf(inTeam, team),
    projectOf(foreign, by),
    ruleOf(aboveId, company, above),
  ];
  const copyId = (projectId: string) => deterministicId(applyId, aboveId, projectId);

  it("reaches its own projects and those of its teams, no others", async () => {
    await run(history(...world, apply()));
    expect(await rulesOf(direct)).to.deep.equal([{ id: copyId(direct), rule: above }]);
    expect(await rulesOf(inTeam)).to.deep.equal([{ id: copyId(inTeam), rule: above }]);
    expect(await rulesOf(foreign)).to.deep.equal([]);
  });

  it("replaces a rule for the same template under its id and keeps the others", async () => {
    const own = { ...above, allowToCreate: "DEVELOPER" } as const;
    const other = { ...above, template: "z*" } as const;
    const [first, second] = [deterministicId("own"), deterministicId("other")];
    await run(
      history(...world, ruleOf(first, direct, own), ruleOf(second, direct, other), apply()),
    );
    expect(await rulesOf(direct)).to.deep.equal([
      { id: first, rule: above },
      { id: second, rule: other },
    ]);
  });

  it("leaves what is stricter in the rule of a project for the same template", async () => {
    const template = "main";
    const [own, over] = [
      { allowedToPush: "NO_ONE", allowedToMerge: "DEVELOPER", allowForcePush: true },
      { allowedToPush: "ADMINS", allowedToMerge: "ADMINS", allowForcePush: false },
    ] as const;
    const both = { allowedToPush: "NO_ONE", allowedToMerge: "ADMINS", allowForcePush: false };
    for (const [mine, theirs] of [
      [own, over],
      [over, own],
    ] as const) {
      const id = deterministicId("own");
      await run(
        history(
          ...world,
          ruleOf(deterministicId("over"), company, { kind: "BRANCH", template, ...theirs }),
          ruleOf(id, direct, { kind: "BRANCH", template, ...mine }),
          apply(applyId, { kind: "BRANCH", keepsStricter: true }),
        ),
      );
      const rule = { kind: "BRANCH", template, ...both };
      expect(await rulesOf(direct)).to.deep.equal([{ id, rule }]);
    }
  });

  it("keeps a tag that nobody may create", async () => {
    const own = { ...above, allowToCreate: "NO_ONE" } as const;
    const id = deterministicId("own");
    await run(history(...world, ruleOf(id, direct, own), apply(applyId, { keepsStricter: true })));
    expect(await rulesOf(direct)).to.deep.equal([{ id, rule: own }]);
  });

  it("follows transfers of projects and teams, and leaves later projects alone", async () => {
    const moved = { previousOwnerId: by, previousOwnerType: "USER", transferredById: by };
    const transfer = (stream: string, type: string, ownerType: string): Written => [
      stream,
      { type, data: { ...moved, ownerId: company, ownerType, transferredAt: at } },
    ];
    const gone = { ...moved, ownerId: by, ownerType: "USER", transferredAt: at };
    const late = deterministicId("late");
    await run(
      history(
        ...world,
        transfer(projectStream(foreign), "ProjectTransferred", "COMPANY"),
        [teamStream(team), { type: "TeamTransferred", data: gone }],
        apply(),
        projectOf(late, company),
      ),
    );
    expect(await rulesOf(foreign)).to.have.length(1);
    expect(await rulesOf(inTeam)).to.have.length(0);
    expect(await rulesOf(late)).to.have.length(0);
  });

  it("ends the same for a log in which a worker wrote an event for each project", async () => {
    const walked = [direct, inTeam].flatMap((id): Written[] => [
      ruleOf(copyId(id), id, above),
      [
        protectionStream(id),
        {
          type: "ProtectionApplied",
          data: { applyId, kind: "TAG", fromId: company, appliedAt: at },
        },
      ],
    ]);
    const data = { applyId, kind: "TAG", projects: 2, finishedAt: at };
    const finished: Written = [
      protectionStream(company),
      { type: "ProtectionApplyFinished", data },
    ];
    await run(history(...world, apply(), ...walked, finished));
    const { protection_rule: rows } = await rowsOf(db, protectionProjection);
    expect(rows).to.have.length(3);
    expect(await rulesOf(direct)).to.deep.equal([{ id: copyId(direct), rule: above }]);
    expect(await db("protection_rule").whereNotNull("apply_id")).to.deep.equal([]);
  });

  it("changes nothing when it is repeated", async () => {
    await run(history(...world, apply()));
    const once = await rulesOf(inTeam);
    await run(history(...world, apply(), apply(deterministicId("again"))));
    expect(await rulesOf(inTeam)).to.deep.equal(once);
  });

  it("gives 10,000 projects the rules in one event", async () => {
    await run(history(teamCreated, ruleOf(aboveId, company, above)));
    await db.raw(
      `insert into protection_owner (id, owner_id, is_project)
        select gen_random_uuid(), ?, true from generate_series(1, 10000)`,
      [team],
    );
    const events = history(teamCreated, ruleOf(aboveId, company, above), apply());
    let queries = 0;
    const counting = () => {
      queries += 1;
    };
    db.on("query", counting);
    await project(db, protectionProjection, events, context);
    db.off("query", counting);
    const [{ count } = { count: 0 }] = await db("protection_rule")
      .where("apply_id", applyId)
      .count();
    expect(Number(count)).to.equal(10_000);
    expect(queries, "whatever the number of projects").to.be.below(50);
  });
});
