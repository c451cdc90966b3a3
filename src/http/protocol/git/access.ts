import type { Context } from "koa";

import { normaliseAlias } from "../../../events/core/ids.ts";
import type { PackService } from "../../../git/pack-service.ts";
import { tokenPrefixes } from "../../../platform/key/token.ts";
import { Refusal } from "../../../platform/refusal.ts";
import type { ProjectRow } from "../../../projections/project/project.ts";
import { type Authenticate, anonymous } from "../../access/authenticate.ts";
import { basicCredentials } from "../../access/credentials.ts";
import { type Caller, type Gate, type ResolvedProject, requireScope } from "../../access/gate.ts";
import { HttpRefusal } from "../../core/errors.ts";

export type GitAccessDeps = Readonly<{
  authenticate: Authenticate;
  project: Gate["project"];
  /** The project of a job that runs, by the token of its run. */
  jobProject: (token: string) => Promise<ProjectRow | undefined>;
  /** The setting pullRepoFromAnonUserIsEnabled. */
  anonymousPull: () => Promise<boolean>;
}>;

type Names = Readonly<{ ownerAlias: string; projectAlias: string }>;

export type GitAccess = ResolvedProject & Readonly<{ caller: Caller }>;

/**
 * Who calls, and whether they may fetch or push. Git sends credentials only after a 401, so a caller
 * without any is answered that, whether or not there is such a project.
 *
 * @throws HttpRefusal 401; Refusal 403 for a missing right or scope, 404 for an unknown project
 */
export async function gitAccess(
  ctx: Context,
  service: PackService,
  names: Names,
  deps: GitAccessDeps,
): Promise<GitAccess> {
  const byJob = await jobAccess(ctx, service, names, deps);
  if (byJob !== undefined) return byJob;
  const caller = await callerOf(ctx, deps);
  const fetching = service === "upload-pack";
  if (caller.userId === null) {
    const open = fetching ? await openAccess(names, deps) : undefined;
    if (open === undefined) throw unauthorised();
    return open;
  }
  requireScope(caller, fetching ? "PROJECT_READ" : "PROJECT_WRITE");
  return { caller, ...(await deps.project(names, caller, fetching ? "GUEST" : "DEVELOPER")) };
}

/** Undefined where strangers may not fetch. */
async function openAccess(
  names: Names,
  { anonymousPull, project }: GitAccessDeps,
): Promise<GitAccess | undefined> {
  if (!(await anonymousPull())) return undefined;
  try {
    return { caller: anonymous, ...(await project(names, anonymous, "GUEST")) };
  } catch (error) {
    if (error instanceof Refusal) return undefined;
    throw error;
  }
}

/**
 * The token of a job that runs fetches the project of the job. Of others it opens what is open without it: gitlab-runner
 * sends it with every address of this service, those of submodules too.
 *
 * @returns undefined for other credentials
 */
async function jobAccess(
  ctx: Context,
  service: PackService,
  names: Names,
  deps: GitAccessDeps,
): Promise<GitAccess | undefined> {
  const [, token = ""] = basicCredentials(ctx.get("authorization")) ?? [];
  if (!token.startsWith(`${tokenPrefixes.job}_`)) return undefined;
  const project = await deps.jobProject(token);
  if (project === undefined) {
    await deps.authenticate.countWrongToken(ctx);
    throw unauthorised();
  }
  const isIts =
    normaliseAlias(project.owner_alias) === normaliseAlias(names.ownerAlias) &&
    normaliseAlias(project.alias) === normaliseAlias(names.projectAlias);
  if (isIts && service === "upload-pack") return { caller: anonymous, project, role: "GUEST" };
  const open = service === "upload-pack" ? await openAccess(names, deps) : undefined;
  if (open !== undefined) return open;
  const message = "The token of a job fetches the project of the job and public ones only.";
  throw new Refusal("forbidden", "job.token_scope", message);
}

/** By Basic, or by `http.extraHeader` with a token, as pipelines set it. */
async function callerOf(ctx: Context, { authenticate }: GitAccessDeps): Promise<Caller> {
  const caller = await authenticate.client(ctx);
  if (caller === null) throw unauthorised();
  return caller;
}

function unauthorised(): HttpRefusal {
  const message = "Sign in with your alias and a password or an access token.";
  return new HttpRefusal(401, "auth.required", message, {
    "WWW-Authenticate": 'Basic realm="git", charset="UTF-8"',
  });
}
