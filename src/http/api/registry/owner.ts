import { z } from "zod";

import { Alias } from "../../../events/core/ids.ts";
import { instanceOwnerId, type RegistryOwner } from "../../../events/registry/repository.ts";
import type { Access } from "../../access/access.ts";
import type { RequestContext } from "../../core/request.ts";
import type { RoutePath } from "../../core/route.ts";

/** Projects, companies and the instance have repositories in the same way. This says what differs. */
export type RegistryScope = Readonly<{
  /** In an operationId: `list{Project}RegistryRepositories`. */
  noun: "Project" | "Company" | "Instance";
  /** Where its repositories are listed. */
  path: RoutePath;
  /** The second documented form of the path. */
  alsoAt?: RoutePath;
  read: Access;
  /** Of the repositories themselves. */
  manage: Access;
  /** Of packages in them. */
  write: Access;
}>;

const projectScope = {
  noun: "Project",
  path: "/project/{ownerAlias}/{projectAlias}/repositories",
  alsoAt: "/registry/project/{ownerAlias}/{projectAlias}/repositories",
  read: "project:GUEST",
  manage: "project:ADMIN",
  write: "project:DEVELOPER",
} as const satisfies RegistryScope;

const companyScope = {
  noun: "Company",
  path: "/company/{companyAlias}/repositories",
  alsoAt: "/registry/company/{companyAlias}/repositories",
  read: "company:GUEST",
  manage: "company:ADMIN",
  write: "company:DEVELOPER",
} as const satisfies RegistryScope;

export const instanceScope = {
  noun: "Instance",
  path: "/registry/instance/repositories",
  read: "user:READER",
  manage: "admin",
  write: "admin",
} as const satisfies RegistryScope;

export const registryScopes: readonly RegistryScope[] = [projectScope, companyScope, instanceScope];

/** The documented form of the instance's path that names any existing project. */
export const instanceByProject = {
  path: "/registry/instance/{projectAlias}/repositories",
  params: z.object({ projectAlias: Alias }),
} as const;

export const instanceOwner: RegistryOwner = { ownerType: "INSTANCE", ownerId: instanceOwnerId };

/** Whose repositories a request is about, from what the route's access has resolved. */
export function ownerOf(request: RequestContext): RegistryOwner {
  const { project, company } = request as Partial<Record<"project" | "company", { id: string }>>;
  if (project !== undefined) return { ownerType: "PROJECT", ownerId: project.id };
  if (company !== undefined) return { ownerType: "COMPANY", ownerId: company.id };
  return instanceOwner;
}
