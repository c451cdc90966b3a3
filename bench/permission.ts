import { randomUUID } from "node:crypto";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import type { Knex } from "knex";

import { startPostgres } from "../src/embedded/postgres/server.ts";
import { migrate } from "../src/platform/migrate.ts";
import { openPostgres } from "../src/platform/postgres.ts";
import { companyProjection } from "../src/projections/company.ts";
import { install } from "../src/projections/install.ts";
import { memberProjection } from "../src/projections/member.ts";
import { projectRole } from "../src/projections/member-role.ts";
import { findProject, listProjects, projectProjection } from "../src/projections/project.ts";
import { listTeams, teamProjection } from "../src/projections/team.ts";
import { userProjection } from "../src/projections/user.ts";
import { figure, timed } from "./figure.ts";

/**
 * What roles and lists cost on an instance with ten thousand projects, a thousand teams and a
 * hundred thousand memberships, at the 99th percentile, against one of a hundredth of that.
 */
const rounds = 300;
const projections = [
  companyProjection,
  memberProjection,
  projectProjection,
  teamProjection,
  userProjection,
];
const small = { users: 100, teams: 10, projects: 100, memberships: 1_000 };
const large = { users: 10_000, teams: 1_000, projects: 10_000, memberships: 100_000 };

const dataDir = await mkdtemp(path.join(tmpdir(), "ledgerforge-bench-"));
const postgres = await startPostgres({ dataDir });
const db = openPostgres(postgres.url);
try {
  await migrate(db);
  await db.transaction(async (tx) => {
    for (const projection of projections) await install(tx, projection, "live");
  });
  await seed(db, small);
  const before = await measured(db);
  await seed(db, large);
  const after = await measured(db);
  for (const [name, value] of before) {
    figure(name, "ms p99", after.get(name) ?? Number.NaN, { name: "small instance", value });
  }
} finally {
  await db.destroy();
  await postgres.close();
  await rm(dataDir, { recursive: true, force: true });
}

type Size = typeof small;

/** Empties the tables and fills them evenly; every user has as many memberships as every other. */
async function seed(to: Knex, { users, teams, projects, memberships }: Size): Promise<void> {
  await to.raw("truncate app_user, team, company, project, member");
  const ids = (count: number) => Array.from({ length: count }, () => randomUUID());
  const [userIds, teamIds, projectIds] = [ids(users), ids(teams), ids(projects)];
  await to.raw(
    `insert into app_user (id, alias, alias_normalised, is_admin, is_confirmed, created_at)
     select id, 'user' || n, 'user' || n, false, true, now() + n * interval '1 ms'
     from unnest(?::uuid[]) with ordinality as t (id, n)`,
    [userIds],
  );
  await to.raw(
    `insert into team (id, owner_id, owner_type, alias, alias_normalised, title, is_private,
       created_at)
     select id, (?::uuid[])[1 + n % ?::int], 'USER', 'team' || n, 'team' || n, 'Team ' || n,
       n % 2 = 0, now() + n * interval '1 ms'
     from unnest(?::uuid[]) with ordinality as t (id, n)`,
    [userIds, users, teamIds],
  );
  await to.raw(
    `insert into project (id, owner_id, owner_type, alias, alias_normalised, title, is_private,
       default_branch, topics, created_at)
     select id, (?::uuid[])[1 + n % ?::int], 'TEAM', 'project' || n, 'project' || n,
       'Project ' || n, n % 2 = 0, 'main', '{}', now() + n * interval '1 ms'
     from unnest(?::uuid[]) with ordinality as t (id, n)`,
    [teamIds, teams, projectIds],
  );
  await to.raw(
    `insert into member (user_id, parent_id, parent_type, role, role_rank, added_at)
     select (?::uuid[])[1 + n % ?::int], (?::uuid[])[1 + (n * 7919) % ?::int], 'PROJECT',
       'DEVELOPER', 2, now()
     from generate_series(1, ?::int) as n on conflict do nothing`,
    [userIds, users, projectIds, projects, memberships],
  );
  await to.raw("analyze");
}

async function measured(on: Knex): Promise<ReadonlyMap<string, number>> {
  const user = await on("app_user").where("alias", "user7").first("id");
  const userId = String(user?.id);
  const place = await findProject(on, "team3", "project2");
  if (place === undefined) throw new Error("the seeded project is not there");
  const slice = { limit: 10, offset: 0 };
  const asked: Readonly<Record<string, () => Promise<unknown>>> = {
    "project by its aliases": () => findProject(on, "team3", "project2"),
    "role in a project": () => projectRole(on, place, userId),
    "own projects": () => listProjects(on, { mine: userId, ...slice }),
    "shared projects": () => listProjects(on, { sharedWith: userId, ...slice }),
    "public projects": () => listProjects(on, { publicOnly: true, ...slice }),
    "shared teams": () => listTeams(on, { which: "shared", userId }, slice),
  };
  const found = new Map<string, number>();
  for (const [name, ask] of Object.entries(asked)) {
    for (let round = 0; round < 20; round += 1) await ask();
    const times: number[] = [];
    for (let round = 0; round < rounds; round += 1) times.push(await timed(ask));
    found.set(name, times.sort((a, b) => a - b)[Math.floor(rounds * 0.99)] ?? Number.NaN);
  }
  return found;
}
