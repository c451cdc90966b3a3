import { randomUUID } from "node:crypto";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import type { Knex } from "knex";

import { startPostgres } from "../src/embedded/postgres/server.ts";
import { migrate } from "../src/platform/migrate.ts";
import { openPostgres } from "../src/platform/postgres.ts";
import { install } from "../src/projections/core/install.ts";
import {
  findProject,
  listProjects,
  projectProjection,
} from "../src/projections/project/project.ts";
import { companyProjection, listCompanies } from "../src/projections/team/company.ts";
import { listMembers, memberProjection } from "../src/projections/team/member.ts";
import { projectRole } from "../src/projections/team/member-role.ts";
import { listTeams, teamProjection } from "../src/projections/team/team.ts";
import { listUsers, userProjection } from "../src/projections/user/user.ts";
import { figure, median, quantile, timed } from "./figure.ts";

/**
 * What roles and lists cost on an instance with ten thousand projects, a thousand teams and a
 * hundred thousand memberships, half the time and at the 99th percentile, against one of a hundredth of that.
 */
const rounds = 200;
const warmUp = 20;
/** Other load of the machine decides the slowest of a pass: the median of the passes is printed. */
const passes = 5;
const parts = [50, 99] as const;
const projections = [
  companyProjection,
  memberProjection,
  projectProjection,
  teamProjection,
  userProjection,
];
const small = { users: 100, teams: 10, companies: 10, projects: 100, memberships: 1_000 };
const large = {
  users: 10_000,
  teams: 1_000,
  companies: 1_000,
  projects: 10_000,
  memberships: 100_000,
};

const dataDir = await mkdtemp(path.join(tmpdir(), "ledgerforge-bench-"));
const postgres = await startPostgres({ dataDir });
const opened: Knex[] = [];
try {
  // In turn, so that both meet the same moments of the machine.
  const few = await instance("few", small);
  const many = await instance("many", large);
  for (const [name, query] of await questions(few, "ject 7")) {
    const queryMany = (await questions(many, "ject 777")).get(name) ?? query;
    const durations = { few: new Map<number, number[]>(), many: new Map<number, number[]>() };
    for (let pass = 0; pass < passes; pass += 1) {
      const times = await inTurn(query, queryMany);
      for (const part of parts) {
        for (const which of ["few", "many"] as const) {
          const sofar = durations[which].get(part) ?? [];
          durations[which].set(part, [...sofar, quantile(times[which], part / 100)]);
        }
      }
    }
    for (const part of parts) {
      const baseline = { name: "small instance", value: median(durations.few.get(part) ?? []) };
      figure(name, `ms p${part}`, median(durations.many.get(part) ?? []), baseline);
    }
  }
} finally {
  for (const db of opened) await db.destroy();
  await postgres.close();
  await rm(dataDir, { recursive: true, force: true });
}

async function inTurn(query: () => Promise<unknown>, queryMany: () => Promise<unknown>) {
  const times = { few: [] as number[], many: [] as number[] };
  for (let round = -warmUp; round < rounds; round += 1) {
    const [few, many] = [await timed(query), await timed(queryMany)];
    if (round < 0) continue;
    times.few.push(few);
    times.many.push(many);
  }
  return times;
}

async function instance(name: string, size: Size): Promise<Knex> {
  const admin = openPostgres(postgres.url, { poolMax: 1 });
  opened.push(admin);
  await admin.raw("create database ??", [name]);
  const url = new URL(postgres.url);
  url.pathname = `/${name}`;
  const db = openPostgres(url.href);
  opened.push(db);
  await migrate(db);
  await db.transaction(async (tx) => {
    for (const projection of projections) await install(tx, projection, "live");
  });
  await seed(db, size);
  return db;
}

type Size = typeof small;

/** Evenly: every user has as many memberships as every other. */
async function seed(
  to: Knex,
  { users, teams, companies, projects, memberships }: Size,
): Promise<void> {
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
    `insert into company (id, owner_id, alias, alias_normalised, title, is_private, created_at)
     select id, (?::uuid[])[1 + n % ?::int], 'company' || n, 'company' || n, 'Company ' || n,
       n % 2 = 0, now() + n * interval '1 ms'
     from unnest(?::uuid[]) with ordinality as t (id, n)`,
    [userIds, users, ids(companies)],
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

/** @param some part of the titles of eleven projects, six of them public, whatever the size */
async function questions(
  on: Knex,
  some: string,
): Promise<ReadonlyMap<string, () => Promise<unknown>>> {
  const user = await on("app_user").where("alias", "user7").first("id");
  const userId = String(user?.id);
  const place = await findProject(on, "team3", "project2");
  if (place === undefined) throw new Error("the seeded project is not there");
  const slice = { limit: 10, offset: 0 };
  const ownerId = place.owner_user_id;
  const publicProjects = (title: string) => listProjects(on, { publicOnly: true, title, ...slice });
  const queries: Readonly<Record<string, () => Promise<unknown>>> = {
    "project by its aliases": () => findProject(on, "team3", "project2"),
    "role in a project": () => projectRole(on, place, userId),
    "own projects": () => listProjects(on, { mine: userId, ...slice }),
    "shared projects": () => listProjects(on, { sharedWith: userId, ...slice }),
    "public projects": () => listProjects(on, { publicOnly: true, ...slice }),
    "public projects, all found": () => publicProjects("project"),
    "public projects, few found": () => publicProjects(some),
    "public projects, none found": () => publicProjects("nowhere"),
    "members of a project": () => listMembers(on, { parentId: place.id, ownerId, ...slice }),
    "public teams": () => listTeams(on, { which: "public" }, slice),
    "own teams": () => listTeams(on, { which: "mine", userId }, slice),
    "public companies": () => listCompanies(on, { which: "public" }, slice),
    "shared companies": () => listCompanies(on, { which: "shared", userId }, slice),
    users: () => listUsers(on, slice),
    "users by alias, all found": () => listUsers(on, { alias: "user", ...slice }),
    "shared teams": () => listTeams(on, { which: "shared", userId }, slice),
  };
  return new Map(Object.entries(queries));
}
