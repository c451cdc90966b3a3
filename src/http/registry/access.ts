import type { Context } from "koa";

import { registryRepositoryNotFound } from "../../commands/registry/repository.ts";
import type { RegistryOwner } from "../../events/registry/repository.ts";
import { isToken } from "../../platform/key/token.ts";
import { Refusal } from "../../platform/refusal.ts";
import { findProject } from "../../projections/project/project.ts";
import {
  findRegistryRepositoryNamed,
  type RegistryRepositoryRow,
} from "../../projections/registry/repository.ts";
import { findCompany } from "../../projections/team/company.ts";
import { type Authenticate, anonymous, basicCredentials } from "../access/authenticate.ts";
import { type Caller, type Gate, mustBeOfJob, requireScope } from "../access/gate.ts";
import { jobCaller } from "../access/job-caller.ts";
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
  return accessOf(await registryCaller(ctx, deps), name, right, deps);
}

/** The same for a caller who is known. @throws as `registryAccess` */
export async function accessOf(
  caller: Caller,
  name: NativeName,
  right: Right,
  deps: RegistryAccessDeps,
): Promise<RegistryAccess> {
  if (name.place !== "project") mustBeOfJob(caller, undefined);
  if (caller.userId === null) {
    const open = caller.job === undefined ? openRepository : ofJob(caller.job.projectId);
    const repository = right === "read" ? await open(name, deps) : undefined;
    if (repository === undefined) throw unauthorised();
    return { caller, repository };
  }
  requireScope(caller, right === "read" ? "READ_REGISTRY" : "WRITE_REGISTRY");
  const owner = await ownerFor(name, caller, right, deps);
  const repository = await findRegistryRepositoryNamed(deps.db, owner, name.repository);
  if (repository === undefined) throw registryRepositoryNotFound();
  return { caller, repository };
}

/** A job that acts for nobody known reads what its project has. */
function ofJob(projectId: string): typeof openRepository {
  return async (name, deps) => {
    const owner = await ownerNamed(name, deps);
    if (owner?.ownerId !== projectId) return undefined;
    return findRegistryRepositoryNamed(deps.db, owner, name.repository);
  };
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

/**
 * Basic with a password or a token, `Bearer`, `token`, or the bare token of cargo, gem and NuGet; the token of a job
 * in all of these places.
 *
 * @throws HttpRefusal 401
 */
export async function registryCaller(
  ctx: Context,
  { authenticate, db }: Pick<RegistryAccessDeps, "authenticate" | "db">,
): Promise<Caller> {
  const byJob = await jobCaller(db, ctx).catch((error: unknown) => {
    throw error instanceof Refusal && error.code === "auth.token_invalid" ? unauthorised() : error;
  });
  if (byJob !== undefined) return byJob;
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
