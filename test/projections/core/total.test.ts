import { randomUUID } from "node:crypto";
import { expect } from "chai";

import type { AnyEvent } from "../../../src/events/core/event.ts";
import { type Projection, project } from "../../../src/projections/core/projection.ts";
import { countedBeyondMax } from "../../../src/projections/core/total.ts";
import { listProjects, projectProjection } from "../../../src/projections/project/project.ts";
import { companyProjection, listCompanies } from "../../../src/projections/team/company.ts";
import { listTeams, teamProjection } from "../../../src/projections/team/team.ts";
import { listUsers, userProjection } from "../../../src/projections/user/user.ts";
import { at, history } from "../../support/app/history.ts";
import { context, reset, rewind } from "../../support/app/projection.ts";
import { testDatabase } from "../../support/store/database.ts";

const { db } = await testDatabase();
const anna = randomUUID();
const by = { changedById: anna, changedAt: at };
const page = { limit: 10, offset: 0 };

/** What may happen to a thing after its creation, in an order that turns it on and off again. */
type Life = Readonly<{
  projection: Projection;
  category: string;
  created: (id: string, hidden: boolean) => AnyEvent;
  later: readonly AnyEvent[];
  total: () => Promise<number>;
  counted: string;
}>;

const details = (hidden: boolean) => ({
  title: "Search",
  description: null,
  private: hidden,
  avatar: null,
  url: null,
  contactPhone: null,
  contactEmail: null,
});
const detailsChanged = (type: string, hidden: boolean): AnyEvent => ({
  type,
  data: { details: details(hidden), previous: details(!hidden), ...by },
});
const visible = (hidden: boolean): AnyEvent => ({
  type: "ProjectVisibilityChanged",
  data: { private: hidden, previous: !hidden, ...by },
});
const deleted = (type: string): AnyEvent => ({
  type,
  data: { deletedById: anna, deletedAt: at },
});
const restored = { type: "ProjectRestored", data: { restoredById: anna, restoredAt: at } };
const owner = { ownerId: anna, ownerType: "USER", createdById: anna, createdAt: at };

const lives: readonly Life[] = [
  {
    projection: projectProjection,
    category: "project",
    created: (projectId, hidden) => ({
      type: "ProjectCreated",
      data: {
        ...owner,
        projectId,
        alias: "search",
        title: "Search",
        description: null,
        language: null,
        private: hidden,
        defaultBranch: "main",
      },
    }),
    later: [
      visible(true),
      visible(true),
      visible(false),
      {
        type: "ProjectTransferred",
        data: {
          ownerId: randomUUID(),
          ownerType: "TEAM",
          previousOwnerId: anna,
          previousOwnerType: "USER",
          transferredById: anna,
          transferredAt: at,
        },
      },
      deleted("ProjectDeleted"),
      restored,
      deleted("ProjectDeleted"),
      visible(true),
      restored,
      visible(false),
      deleted("ProjectDeleted"),
      { type: "ProjectPurged", data: { projectId: randomUUID(), purgedAt: at } },
    ],
    total: async () => (await listProjects(db, { publicOnly: true, ...page })).total,
    counted: "select count(*) from project where not is_private and deleted_at is null",
  },
  {
    projection: teamProjection,
    category: "team",
    created: (teamId, hidden) => ({
      type: "TeamCreated",
      data: { ...owner, teamId, alias: "search", details: details(hidden) },
    }),
    later: [
      detailsChanged("TeamDetailsChanged", true),
      detailsChanged("TeamDetailsChanged", false),
      deleted("TeamDeleted"),
    ],
    total: async () => (await listTeams(db, { which: "public" }, page)).total,
    counted: "select count(*) from team where not is_private and deleted_at is null",
  },
  {
    projection: companyProjection,
    category: "company",
    created: (companyId, hidden) => ({
      type: "CompanyCreated",
      data: { ...owner, companyId, alias: "search", details: details(hidden) },
    }),
    later: [
      detailsChanged("CompanyDetailsChanged", true),
      detailsChanged("CompanyDetailsChanged", false),
      deleted("CompanyDeleted"),
    ],
    total: async () => (await listCompanies(db, { which: "public" }, page)).total,
    counted: "select count(*) from company where not is_private and deleted_at is null",
  },
  {
    projection: userProjection,
    category: "user",
    created: (userId) => ({
      type: "UserRegistered",
      data: {
        userId,
        alias: "anna",
        email: `sealed.user-${userId}.AAAA`,
        emailDigest: "d",
        passwordHash: null,
        admin: false,
        confirmed: true,
        registeredAt: at,
      },
    }),
    later: [
      { type: "UserBanned", data: { reason: null, bannedById: anna, bannedAt: at } },
      { type: "UserUnbanned", data: { unbannedById: anna, unbannedAt: at } },
      { type: "UserForgotten", data: { forgottenAt: at } },
    ],
    total: async () => (await listUsers(db, page)).total,
    counted: "select count(*) from app_user where forgotten_at is null",
  },
];

describe("totals that are kept", () => {
  before(async () => {
    for (const { projection } of lives) await reset(db, projection);
  });

  for (const { projection, category, created, later, total, counted } of lives) {
    it(`are those of the rows of ${projection.name}, whatever happens and again`, async () => {
      const ids = [randomUUID(), randomUUID(), randomUUID()];
      const streams = ids.map((id) => `${category}-${id}`);
      const log = history(
        ...streams.map((stream, n) => [stream, created(ids[n]!, n === 0)] as const),
        ...later.map((event) => [streams[1]!, event] as const),
      );
      const expectTrue = async (what: string) => {
        const { rows } = await db.raw<{ rows: { count: bigint }[] }>(counted);
        expect(await total(), what).to.equal(Number(rows[0]?.count));
      };
      await reset(db, projection);
      const seen = new Set<number>();
      for (const event of log) {
        await project(db, projection, [event], context);
        await expectTrue(event.type);
        seen.add(await total());
      }
      expect(seen.size, "it moves").to.be.greaterThan(2);
      await rewind(db, projection);
      for (const event of log) {
        await project(db, projection, [event], context);
        await expectTrue(`${event.type} again`);
      }
    });
  }
});

describe("the total of a search", () => {
  const many = countedBeyondMax + 50;
  const find = (title: string, offset = 0) =>
    listProjects(db, { publicOnly: true, title, limit: 10, offset });

  before(async () => {
    for (const { projection } of lives) await reset(db, projection);
    const [stream, user] = [`user-${anna}`, lives[3]!.created(anna, false)];
    await project(db, userProjection, history([stream, user]), context);
    await db.raw(
      `insert into project (id, owner_id, owner_type, alias, alias_normalised, title, is_private,
         default_branch, topics, created_at)
       select gen_random_uuid(), ?, 'USER', 'p' || n, 'p' || n,
         case when n % 180 = 0 then 'rare ' else '' end || 'Common ' || n, false, 'main', '{}',
         now() - n * interval '1 s'
       from generate_series(1, ?::int) as n`,
      [anna, many],
    );
  });

  it("is true as long as nobody must read much for it", async () => {
    expect((await find("RARE")).total).to.equal(3);
    expect((await find("common 3")).total).to.equal(111);
    expect((await find("nothing of it")).total).to.equal(0);
  });

  it("goes far beyond the page, and is true at the end", async () => {
    expect((await find("common")).total).to.equal(countedBeyondMax + 10);
    expect((await find("common", many - 10)).total).to.equal(many);
  });

  it("comes with the same order of few and of many", async () => {
    const titles = async (title: string) => (await find(title)).rows.map((row) => row.title);
    expect(await titles("rare")).to.deep.equal([
      "rare Common 540",
      "rare Common 360",
      "rare Common 180",
    ]);
    expect((await titles("common")).slice(0, 2)).to.deep.equal(["Common 550", "Common 549"]);
  });
});
