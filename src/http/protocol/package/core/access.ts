import type { Context } from "koa";

import { registryRepositoryNotFound } from "../../../../commands/registry/repository.ts";
import type { RegistryOwner } from "../../../../events/registry/repository.ts";
import { isToken } from "../../../../platform/key/token.ts";
import { Refusal } from "../../../../platform/refusal.ts";
import { findProject, type ProjectRow } from "../../../../projections/project/project.ts";
import {
  findRegistryRepository,
  findRegistryRepositoryNamed,
  type RegistryRepositoryRow,
} from "../../../../projections/registry/repository.ts";
import { type CompanyRow, findCompany } from "../../../../projections/team/company.ts";
import type { Authenticate } from "../../../access/authenticate.ts";
import { type Caller, type Gate, mustBeOfJob, requireScope } from "../../../access/gate.ts";
import { jobCaller } from "../../../access/job-caller.ts";
import { instanceOwner } from "../../../api/registry/owner.ts";
import type { Deps } from "../../../core/deps.ts";
import { HttpRefusal } from "../../../core/errors.ts";

export type RegistryAccessDeps = Deps & Readonly<{ authenticate: Authenticate; gate: Gate }>;

/** Whose repository a native path names, and by which name. */
export type NativeName = Readonly<{
  scope: "project" | "company" | "instance";
  params: Readonly<Record<string, string>>;
  repository: string;
}>;

export type Right = "read" | "write";

export type RegistryAccess = Readonly<{
  caller: Caller;
  repository: RegistryRepositoryRow;
  /** Of the repository below the service's URL; the same however the request spelled its names. */
  path: string;
}>;

/** With its aliases as they are stored: `project/anna/forge`. */
type NamedOwner = RegistryOwner & Readonly<{ path: string }>;
type Found = Omit<RegistryAccess, "caller">;

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
  if (name.scope !== "project") mustBeOfJob(caller, undefined);
  if (caller.userId === null) {
    const open = caller.job === undefined ? openRepository : ofJob(caller.job.projectId);
    const found = right === "read" ? await open(name, deps) : undefined;
    if (found === undefined) throw unauthorised();
    return { caller, ...found };
  }
  requireScope(caller, right === "read" ? "READ_REGISTRY" : "WRITE_REGISTRY");
  const found =
    right === "read" && caller.job === undefined
      ? await foundByReader(name, caller, deps)
      : await repositoryOf(await ownerFor(name, caller, right, deps), name, deps);
  if (found === undefined) throw registryRepositoryNotFound();
  return { caller, ...found };
}

/** What is open without a token is open with any. @throws Refusal 403, 404 */
async function foundByReader(
  name: NativeName,
  caller: Caller,
  deps: RegistryAccessDeps,
): Promise<Found | undefined> {
  try {
    return await repositoryOf(await ownerFor(name, caller, "read", deps), name, deps);
  } catch (error) {
    const isDenied = error instanceof Refusal && error.kind === "forbidden";
    const open = isDenied ? await openRepository(name, deps) : undefined;
    if (open === undefined) throw error;
    return open;
  }
}

async function repositoryOf(
  owner: NamedOwner | undefined,
  name: NativeName,
  deps: RegistryAccessDeps,
): Promise<Found | undefined> {
  const row = owner && (await findRegistryRepositoryNamed(deps.db, owner, name.repository));
  if (row === undefined) return undefined;
  const path = `/registry/${owner?.path}/repository/${encodeURIComponent(row.name)}`;
  return { repository: row, path };
}

/** A job without a known person may read the packages of its project. */
function ofJob(projectId: string): typeof openRepository {
  return async (name, deps) => {
    const owner = await ownerNamed(name, deps);
    return owner?.ownerId === projectId ? repositoryOf(owner, name, deps) : undefined;
  };
}

/** The repository, when callers without a token may read it. */
async function openRepository(
  name: NativeName,
  deps: RegistryAccessDeps,
): Promise<Found | undefined> {
  const found = await repositoryOf(await ownerNamed(name, deps), name, deps);
  return found && (await isOpen(found.repository, deps)) ? found : undefined;
}

async function isOpen(
  { settings, owner_type }: RegistryRepositoryRow,
  deps: Pick<Deps, "settings">,
): Promise<boolean> {
  if (settings.type === "LOCAL" && settings.hasAnonymousAccess) return true;
  const isOfInstance = owner_type === "INSTANCE" && settings.type !== "PROXY";
  return isOfInstance && (await deps.settings()).globalRegistryAnonymousAccess;
}

/** Whether callers without a token may read the repository with this id, when it is of the owner that is named. */
export async function isOpenRepository(
  owner: Omit<NativeName, "repository">,
  id: string,
  deps: Deps,
): Promise<boolean> {
  const named = await ownerNamed(owner, deps);
  const row = named && (await findRegistryRepository(deps.db, named, id));
  return row !== undefined && (await isOpen(row, deps));
}

const instance: NamedOwner = { ...instanceOwner, path: "instance" };
const ofCompany = ({ id, alias }: Pick<CompanyRow, "id" | "alias">): NamedOwner => ({
  ownerType: "COMPANY",
  ownerId: id,
  path: `company/${alias}`,
});
const ofProject = ({ id, owner_alias, alias }: ProjectRow): NamedOwner => ({
  ownerType: "PROJECT",
  ownerId: id,
  path: `project/${owner_alias}/${alias}`,
});

/** Without regard to roles: the repository itself says that it is open. */
async function ownerNamed(
  { scope, params }: Omit<NativeName, "repository">,
  { db }: Pick<Deps, "db">,
): Promise<NamedOwner | undefined> {
  if (scope === "instance") return instance;
  if (scope === "company") {
    const company = await findCompany(db, params["companyAlias"] ?? "");
    return company && ofCompany(company);
  }
  const project = await findProject(db, params["ownerAlias"] ?? "", params["projectAlias"] ?? "");
  return project && ofProject(project);
}

/** @throws Refusal 403, 404 */
async function ownerFor(
  { scope, params }: NativeName,
  caller: Caller,
  right: Right,
  { gate }: RegistryAccessDeps,
): Promise<NamedOwner> {
  const role = right === "read" ? "GUEST" : "DEVELOPER";
  if (scope === "project") {
    const { project } = await gate.project(params, caller, role);
    return ofProject(project);
  }
  if (scope === "company") {
    const { company } = await gate.company(params, caller, role);
    return ofCompany(company);
  }
  if (right === "read" || caller.isAdmin) return instance;
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
  const byJob = await jobCaller(db, ctx, authenticate).catch((error: unknown) => {
    throw error instanceof Refusal && error.code === "auth.token_invalid" ? unauthorised() : error;
  });
  if (byJob !== undefined) return byJob;
  const header = ctx.get("authorization") || ctx.get("x-nuget-apikey");
  const caller = await authenticate.client(ctx, isToken(header) ? `Bearer ${header}` : header);
  if (caller === null) throw unauthorised();
  return caller;
}

function unauthorised(): HttpRefusal {
  const message = "Sign in with your alias and a password or a token with a registry scope.";
  return new HttpRefusal(401, "auth.required", message, {
    "WWW-Authenticate": 'Basic realm="registry", charset="UTF-8"',
  });
}
