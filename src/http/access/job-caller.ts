import type { Knex } from "knex";
import type { Context } from "koa";

import { hashToken, isToken, tokenPrefixes } from "../../platform/key/token.ts";
import { actorOfJobToken } from "../../projections/agent/job-token.ts";
import { findProjectById, type ProjectRow } from "../../projections/project/project.ts";
import { projectRole } from "../../projections/team/member-role.ts";
import { type Authenticate, anonymous, tokenNeeded } from "./authenticate.ts";
import { basicCredentials } from "./credentials.ts";
import type { Caller } from "./gate.ts";

const isJobToken = (text: string): boolean =>
  text.startsWith(`${tokenPrefixes.job}_`) && isToken(text);

/**
 * The token of a job that a request carries: in `Job-Token`, as a bearer, in the place of a password, or bare as
 * some package clients send theirs.
 */
function jobTokenOf(ctx: Context): string | undefined {
  const header = ctx.get("authorization") || ctx.get("x-nuget-apikey");
  const [, bearer] = /^(?:token|bearer) +(\S+) *$/i.exec(header) ?? [];
  const [, password] = basicCredentials(header) ?? [];
  return [ctx.get("job-token"), bearer, password, header].find(
    (text) => text !== undefined && isJobToken(text),
  );
}

/**
 * The caller of a request with the token of a job that runs: whom the job acts for, in the job's project alone.
 *
 * @returns undefined for other credentials
 * @throws Refusal 403 `auth.token_invalid` once the run is over
 */
export async function jobCaller(
  db: Knex,
  ctx: Context,
  { countWrongToken }: Pick<Authenticate, "countWrongToken">,
): Promise<Caller | undefined> {
  const token = jobTokenOf(ctx);
  if (token === undefined) return undefined;
  const caller = await callerOfJob(db, hashToken(token));
  if (caller === undefined) {
    await countWrongToken(ctx);
    throw tokenNeeded();
  }
  return caller;
}

/** @returns undefined once the run is over, or whom it acts for is blocked */
export async function callerOfJob(db: Knex, tokenHash: string): Promise<Caller | undefined> {
  const found = await actorOfJobToken(db, tokenHash);
  if (found === undefined) return undefined;
  const job = { projectId: found.projectId, tokenHash };
  if (found.user === null) return { ...anonymous, job };
  const { id: userId, alias } = found.user;
  return {
    actor: { userId, alias, via: "job", tokenId: null },
    userId,
    isAdmin: false,
    scopes: new Set(["PROJECT_READ", "PROJECT_WRITE", "READ_REGISTRY", "WRITE_REGISTRY"]),
    job,
  };
}

/**
 * The project that the token of a job fetches over git: the job's own, while the job runs and the person it acts for
 * may read the project. The job of a push without a known person reads it too.
 */
export async function projectReadByJob(db: Knex, token: string): Promise<ProjectRow | undefined> {
  if (!isJobToken(token)) return undefined;
  const found = await actorOfJobToken(db, hashToken(token));
  const project = found && (await findProjectById(db, found.projectId));
  if (found === undefined || project === undefined || found.user === null) return project;
  const role = await projectRole(db, project, found.user.id);
  return role === undefined ? undefined : project;
}
