import { randomUUID } from "node:crypto";
import { expect } from "chai";

import type { AnyEvent } from "../../../src/events/core/event.ts";
import { projectStream } from "../../../src/events/project/project.ts";
import { userStream } from "../../../src/events/user/user.ts";
import {
  findProject,
  findProjectById,
  listProjects,
  projectProjection,
} from "../../../src/projections/project/project.ts";
import { companyProjection } from "../../../src/projections/team/company.ts";
import { teamProjection } from "../../../src/projections/team/team.ts";
import { userProjection } from "../../../src/projections/user/user.ts";
import { at, history } from "../../support/app/history.ts";
import { context, project, reset } from "../../support/app/projection.ts";
import { testDatabase } from "../../support/store/database.ts";

const { db } = await testDatabase();

const anna = randomUUID();
const search = randomUUID();

const owner: AnyEvent = {
  type: "UserRegistered",
  data: {
    userId: anna,
    alias: "Anna",
    email: `sealed.user-${anna}.AAAA`,
    emailDigest: "d",
    passwordHash: null,
    admin: false,
    confirmed: true,
    registeredAt: at,
  },
};
const created = (projectId: string, over: Record<string, unknown> = {}): AnyEvent => ({
  type: "ProjectCreated",
  data: {
    projectId,
    ownerId: anna,
    ownerType: "USER",
    alias: "Search",
    title: "Search engine",
    description: null,
    language: "Go",
    private: false,
    defaultBranch: "main",
    createdById: anna,
    createdAt: at,
    ...over,
  },
});

describe("the project read model", () => {
  beforeEach(async () => {
    await reset(db, projectProjection);
    await reset(db, userProjection);
    await reset(db, teamProjection);
    await reset(db, companyProjection);
    await project(db, userProjection, history([userStream(anna), owner]), context);
  });

  const apply = (...events: readonly (readonly [string, AnyEvent])[]) => {
    const written = events.map(([id, event]) => [projectStream(id), event] as const);
    return project(db, projectProjection, history(...written), context);
  };

  it("finds a project under its owner in any case, and by id", async () => {
    await apply([search, created(search)]);
    const row = await findProject(db, "anna", "SEARCH");
    expect(row).to.include({ id: search, owner_alias: "Anna", alias: "Search", language: "Go" });
    expect(await findProjectById(db, search)).to.deep.equal(row);
    expect(await findProject(db, "boris", "search")).to.equal(undefined);
  });

  it("shows the default branch of today", async () => {
    const changed = { branch: "trunk", previousBranch: "main", changedAt: at };
    await apply(
      [search, created(search)],
      [search, { type: "ProjectDefaultBranchChanged", data: changed }],
    );
    expect((await findProjectById(db, search))?.default_branch).to.equal("trunk");
  });

  it("lists public projects without the private ones, in rows and in the total", async () => {
    const secret = randomUUID();
    await apply(
      [search, created(search)],
      [secret, created(secret, { private: true, alias: "secret", title: "Secret" })],
    );
    const everybody = await listProjects(db, { publicOnly: true, limit: 10, offset: 0 });
    expect(everybody.rows.map(({ id }) => id)).to.deep.equal([search]);
    expect(everybody.total).to.equal(1);
    const own = await listProjects(db, { ownerId: anna, limit: 10, offset: 0 });
    expect(own.total).to.equal(2);
  });

  it("filters by a part of the title, whose special characters are literal", async () => {
    const percent = randomUUID();
    await apply(
      [search, created(search)],
      [percent, created(percent, { alias: "percent", title: "100% done_now" })],
    );
    const titles = async (title: string) => {
      const { rows } = await listProjects(db, { title, limit: 10, offset: 0 });
      return rows.map((row) => row.title);
    };
    expect(await titles("ENGINE")).to.deep.equal(["Search engine"]);
    expect(await titles("0%")).to.deep.equal(["100% done_now"]);
    expect(await titles("e_n")).to.deep.equal(["100% done_now"]);
    expect(await titles("\\")).to.deep.equal([]);
  });
});
