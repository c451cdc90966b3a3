import type { Context } from "koa";
import type { Actor } from "../../events/core/event.ts";
import type { ProjectId, UserId } from "../../events/core/ids.ts";
import type { Scope } from "../../events/token/access-token.ts";
import { Refusal } from "../../platform/refusal.ts";
import type { ProjectRow } from "../../projections/project/project.ts";
import type { CompanyRow } from "../../projections/team/company.ts";
import type { TeamRow } from "../../projections/team/team.ts";
import type { Access, Role } from "./access.ts";

/** Who is calling, as far as they are authenticated. */
export type Caller = Readonly<{
  actor: Actor;
  userId: UserId | null;
  isAdmin: boolean;
  scopes: ReadonlySet<Scope>;
  /** When the token of the caller expires; undefined when there is no such time. */
  expiresAt?: Date;
  /** Authenticated by the token of a job that runs, which is good in this project alone. */
  job?: Readonly<{ projectId: ProjectId; tokenHash: string }>;
}>;

export type ResolvedProject = Readonly<{ project: ProjectRow; role: Role }>;
export type ResolvedTeam = Readonly<{ team: TeamRow; role: Role }>;
export type ResolvedCompany = Readonly<{ company: CompanyRow; role: Role }>;
export type Resolved = ResolvedProject | ResolvedTeam | ResolvedCompany;

type Resolve<R extends Resolved> = (
  params: Readonly<Record<string, unknown>>,
  caller: Caller,
  /** Null: none. */
  needed: Role | null,
) => Promise<R>;

/** Authenticates callers and finds what their roles are. */
export type Gate = Readonly<{
  /**
   * @param forJobs whether the token of a job authenticates its caller as well
   * @throws Refusal 403 `auth.token_invalid` and its kind when the access requires more than was authenticated
   */
  caller: (ctx: Context, access: Access, forJobs?: boolean) => Promise<Caller>;
  /** Each: @throws Refusal 404 when there is no such thing, 403 when the caller's role is too low */
  project: Resolve<ResolvedProject>;
  team: Resolve<ResolvedTeam>;
  company: Resolve<ResolvedCompany>;
}>;

/** WRITE contains READ of the same resource; PROJECT_EDIT stands alone. */
const implied: Partial<Record<Scope, readonly Scope[]>> = {
  USER_READ: ["USER_WRITE"],
  PROJECT_READ: ["PROJECT_WRITE"],
  TEAM_READ: ["TEAM_WRITE"],
  COMPANY_READ: ["COMPANY_WRITE"],
  READ_REGISTRY: ["WRITE_REGISTRY"],
};

export function hasScope(scopes: ReadonlySet<Scope>, scope: Scope): boolean {
  return scopes.has(scope) || (implied[scope] ?? []).some((wider) => scopes.has(wider));
}

/** @throws Refusal 403 `job.token_scope` for the token of a job outside of its project */
export function mustBeOfJob({ job }: Pick<Caller, "job">, projectId: string | undefined): void {
  if (job === undefined || job.projectId === projectId) return;
  const message = "The token of a job is good in the job's project only.";
  throw new Refusal("forbidden", "job.token_scope", message);
}

export function requireScope(
  caller: Pick<Caller, "userId" | "scopes">,
  scope: Scope | "none",
): void {
  if (scope === "none" || caller.userId === null || hasScope(caller.scopes, scope)) return;
  const message = `This operation needs a token with the scope ${scope}.`;
  throw new Refusal("forbidden", "auth.scope_missing", message, { extra: { scope } });
}
