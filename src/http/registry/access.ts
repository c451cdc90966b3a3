import type { Context } from "koa";

import { registryRepositoryNotFound } from "../../commands/registry/repository.ts";
import type { RegistryOwner } from "../../events/registry/repository.ts";
import { isToken, tokenPrefixes } from "../../platform/key/token.ts";
import { Refusal } from "../../platform/refusal.ts";
import { projectOfJob } from "../../projections/agent/job-token.ts";
import { findProject } from "../../projections/project/project.ts";
import {
  findRegistryRepositoryNamed,
  type RegistryRepositoryRow,
} from "../../projections/registry/repository.ts";
import { findCompany } from "../../projections/team/company.ts";
import { type Authenticate, anonymous, basicCredentials } from "../access/authenticate.ts";
import { type Caller, type Gate, requireScope } from "../access/gate.ts";
import type { Deps } from "../core/deps.ts";
import { HttpRefusal } from "../core/errors.ts";
import { peerOf } from "../core/peer.ts";
import { instanceOwner } from "./owner.ts";

export type RegistryAccessDeps = Deps & Readonly<{ authenticate: Authenticate; gate: Gate }>;

/** Whose repository a native path names, and by which name. */
export type NativeName = Readonly<{
  place: "project" | "company" | "instance";
  params: Readonly<Record<string, string>>;
  repository: string;
}>;

export type Right = "read" | "write";

export type RegistryAccess = Readonly<{ caller: Caller; repository: RegistryRepositoryRow }>;

/**
 * Who calls, and whether they may read or write packages of the repository. Clients send credentials only
 * after a 401, so a caller without any is answered that, whether or not there is such a repository.
 *
 * @throws HttpRefusal 401; Refusal 403 for a missing right or scope, 404 for what does not exist
 */
export async function registryAccess(
  ctx: Context,
  name: NativeName,
  right: Right,
  deps: RegistryAccessDeps,
): Promise<RegistryAccess> {
  const byJob = await jobAccess(ctx, name, right, deps);
  return byJob ?? accessOf(await registryCaller(ctx, deps), name, right, deps);
}

/**
 * The token of a job that runs reads the packages of the job's project, and nothing else.
 *
 * @returns undefined for other credentials
 */
async function jobAccess(
  ctx: Context,
  name: NativeName,
  right: Right,
  deps: RegistryAccessDeps,
): Promise<RegistryAccess | undefined> {
  const header = ctx.get("authorization");
  const [, secret = ""] = bearerOf(header) ?? basicCredentials(header) ?? [];
  const token = ctx.get("job-token") || secret;
  if (!token.startsWith(`${tokenPrefixes.job}_`)) return undefined;
  const project = await projectOfJob(deps.db, token);
  if (project === undefined) throw unauthorised();
  const owner = await ownerNamed(name, deps);
  if (right !== "read" || owner?.ownerType !== "PROJECT" || owner.ownerId !== project.id) {
    const message = "The token of a job reads packages of the job's project only.";
    throw new Refusal("forbidden", "job.token_scope", message);
  }
  const repository = await findRegistryRepositoryNamed(deps.db, owner, name.repository);
  if (repository === undefined) throw registryRepositoryNotFound();
  return { caller: anonymous, repository };
}

/** The same for a caller who is known. @throws as `registryAccess` */
export async function accessOf(
  caller: Caller,
  name: NativeName,
  right: Right,
  deps: RegistryAccessDeps,
): Promise<RegistryAccess> {
  if (caller.userId === null) {
    const repository = right === "read" ? await openRepository(name, deps) : undefined;
    if (repository === undefined) throw unauthorised();
    return { caller, repository };
  }
  requireScope(caller, right === "read" ? "READ_REGISTRY" : "WRITE_REGISTRY");
  const owner = await ownerFor(name, caller, right, deps);
  const repository = await findRegistryRepositoryNamed(deps.db, owner, name.repository);
  if (repository === undefined) throw registryRepositoryNotFound();
  return { caller, repository };
}

/** The repository, when callers without a token may read it. */
async function openRepository(
  name: NativeName,
  deps: RegistryAccessDeps,
): Promise<RegistryRepositoryRow | undefined> {
  const owner = await ownerNamed(name, deps);
  const row = owner && (await findRegistryRepositoryNamed(deps.db, owner, name.repository));
  if (row === undefined) return undefined;
  const isOpen = row.settings.type === "LOCAL" && row.settings.hasAnonymousAccess;
  if (isOpen) return row;
  const isOpenInstance = row.owner_type === "INSTANCE" && row.settings.type !== "PROXY";
  return isOpenInstance && (await deps.settings()).globalRegistryAnonymousAccess ? row : undefined;
}

/** Without regard to roles: the repository itself says that it is open. */
async function ownerNamed(
  { place, params }: NativeName,
  { db }: Pick<Deps, "db">,
): Promise<RegistryOwner | undefined> {
  if (place === "instance") return instanceOwner;
  if (place === "company") {
    const company = await findCompany(db, params["companyAlias"] ?? "");
    return company && { ownerType: "COMPANY", ownerId: company.id };
  }
  const project = await findProject(db, params["ownerAlias"] ?? "", params["projectAlias"] ?? "");
  return project && { ownerType: "PROJECT", ownerId: project.id };
}

/** @throws Refusal 403, 404 */
async function ownerFor(
  { place, params }: NativeName,
  caller: Caller,
  right: Right,
  { gate }: RegistryAccessDeps,
): Promise<RegistryOwner> {
  const role = right === "read" ? "GUEST" : "DEVELOPER";
  if (place === "project") {
    const { project } = await gate.project(params, caller, role);
    return { ownerType: "PROJECT", ownerId: project.id };
  }
  if (place === "company") {
    const { company } = await gate.company(params, caller, role);
    return { ownerType: "COMPANY", ownerId: company.id };
  }
  if (right === "read" || caller.isAdmin) return instanceOwner;
  const message = "Only administrators may store packages of the instance.";
  throw new Refusal("forbidden", "auth.admin_required", message);
}

/** Basic with a password or a token, `Bearer`, `token`, or the bare token of cargo, gem and NuGet. @throws HttpRefusal 401 */
export async function registryCaller(
  ctx: Context,
  { authenticate }: Pick<RegistryAccessDeps, "authenticate">,
): Promise<Caller> {
  const header = ctx.get("authorization") || ctx.get("x-nuget-apikey");
  if (header === "") return anonymous;
  const credentials = isToken(header)
    ? (["token", header] as const)
    : (bearerOf(header) ?? basicCredentials(header));
  const caller = credentials && (await authenticate.basic(...credentials, peerOf(ctx)));
  if (caller === undefined || caller === null) throw unauthorised();
  return caller;
}

function bearerOf(header: string): readonly [string, string] | undefined {
  const token = /^(?:token|bearer) +(\S+) *$/i.exec(header)?.[1];
  return token === undefined || !isToken(token) ? undefined : ["token", token];
}

function unauthorised(): HttpRefusal {
  const message = "Sign in with your alias and a password or a token with a registry scope.";
  return new HttpRefusal(401, "auth.required", message, {
    "WWW-Authenticate": 'Basic realm="registry", charset="UTF-8"',
  });
}
