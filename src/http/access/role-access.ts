import type { Knex } from "knex";

import { Refusal } from "../../platform/refusal.ts";
import {
  findProject,
  findProjectById,
  type ProjectRow,
} from "../../projections/project/project.ts";
import { type CompanyRow, findCompany } from "../../projections/team/company.ts";
import { companyRole, projectRole, teamRole } from "../../projections/team/member-role.ts";
import { findTeam, type TeamRow } from "../../projections/team/team.ts";
import { cachedQuery } from "../core/cached-query.ts";
import type { Deps } from "../core/deps.ts";
import { atLeast, type Needed, type Role } from "./access.ts";
import { type Gate, mustBeOfJob } from "./gate.ts";

type Params = Readonly<Record<string, unknown>>;

export type RoleAccessDeps = Pick<Deps, "db" | "onChange">;

/**
 * Finds what a path names (a project by `ownerAlias` and `projectAlias` or by `projectUuid`, a team by
 * `teamAlias`, a company by `companyAlias`) and holds the caller's role against the one needed. The
 * administrator flag of the instance opens the administrator endpoints and gives no role here.
 */
export function roleAccess({ db, onChange }: RoleAccessDeps): Omit<Gate, "caller"> {
  // The time of a refusal would distinguish a project out of the caller's sight from one that is not there.
  const keeps = ({ role }: ProjectAccess): boolean => role !== undefined;
  const accesses = cachedQuery((key) => projectAccess(db, key), { keeps });
  // A user's alias names projects too; settings name none.
  onChange((subject) => {
    if (subject !== "settings" && subject !== "jobs") accesses.forget();
  });
  return {
    async project(params, caller, needed) {
      const access = mustBeFound(await accesses.get(accessKey(params, caller.userId)), "project");
      mustBeOfJob(caller, access.project.id);
      const role = mustSuffice(access.role, { resource: "project", role: needed });
      return { project: access.project, role };
    },
    async team(params, caller, needed) {
      mustBeOfJob(caller, undefined);
      const team = mustBeFound(await teamNamed(db, params), "team");
      const role = await teamRole(db, team, caller.userId);
      return { team, role: mustSuffice(role, { resource: "team", role: needed }) };
    },
    async company(params, caller, needed) {
      mustBeOfJob(caller, undefined);
      const company = mustBeFound(await companyNamed(db, params), "company");
      const role = await companyRole(db, company, caller.userId);
      return { company, role: mustSuffice(role, { resource: "company", role: needed }) };
    },
  };
}

/** @throws Refusal 403 */
export function mustSuffice(
  role: Role | undefined,
  { resource, role: wanted }: Readonly<{ resource: Needed["resource"]; role: Role | null }>,
): Role {
  if (wanted === null) return role ?? "GUEST";
  const needed = { resource, role: wanted };
  if (role !== undefined && atLeast(role, needed.role)) return role;
  const message = `This needs the role ${needed.role} in the ${needed.resource}.`;
  throw new Refusal("forbidden", "auth.role_missing", message, { extra: { role: needed.role } });
}

/** @throws Refusal 404 */
export function mustBeFound<Row>(row: Row | undefined, resource: Needed["resource"]): Row {
  if (row !== undefined) return row;
  const name = `${resource.charAt(0).toUpperCase()}${resource.slice(1)}`;
  throw new Refusal("not_found", `${resource}.not_found`, `${name} not found.`);
}

/** A project, and what one caller is in it. */
type ProjectAccess = Readonly<{ project: ProjectRow; role: Role | undefined }>;

/** Its parts are separated unambiguously: only equal lookups share a key. */
function accessKey(params: Params, userId: string | null): string {
  const { ownerAlias, projectAlias, projectUuid } = params;
  return JSON.stringify([{ ownerAlias, projectAlias, projectUuid }, userId]);
}

async function projectAccess(db: Knex, key: string): Promise<ProjectAccess | undefined> {
  const [params, userId] = JSON.parse(key) as readonly [Params, string | null];
  const project = await projectNamed(db, params);
  return project && { project, role: await projectRole(db, project, userId) };
}

function projectNamed(
  db: Knex,
  { ownerAlias, projectAlias, projectUuid }: Params,
): Promise<ProjectRow | undefined> {
  if (typeof projectUuid === "string") return findProjectById(db, projectUuid);
  return findProject(db, String(ownerAlias), String(projectAlias));
}

const teamNamed = (db: Knex, { teamAlias }: Params): Promise<TeamRow | undefined> =>
  findTeam(db, String(teamAlias));

const companyNamed = (db: Knex, { companyAlias }: Params): Promise<CompanyRow | undefined> =>
  findCompany(db, String(companyAlias));
