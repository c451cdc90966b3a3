import { z } from "zod";
import { createProject } from "../../../commands/project/create-project.ts";
import { Alias, ProjectId } from "../../../events/core/ids.ts";
import { OwnerType } from "../../../events/project/project.ts";
import { deterministicId } from "../../../platform/deterministic-id.ts";
import { invariant } from "../../../platform/invariant.ts";
import {
  findProjectById,
  listProjects,
  type ProjectFilter,
  projectProjection,
} from "../../../projections/project/project.ts";
import { mustMayCreate, mustMayPublish } from "../../access/create-permission.ts";
import type { ResolvedProject } from "../../access/gate.ts";
import { ownerToBe } from "../../access/owner.ts";
import { commandDeps, stampOf } from "../../core/command-deps.ts";
import type { Deps } from "../../core/deps.ts";
import { listed } from "../../core/paging.ts";
import { type Route, route } from "../../core/route.ts";
import { bool } from "../../core/schema.ts";
import { Description, OwnerAlias, Title } from "../team/field.ts";
import { pendingTransfer } from "../team/pending-transfer.ts";
import { addresses, ProjectView, projectView } from "./view.ts";

const tag = "Projects";

/** The branch a repository has before anything was pushed. */
const initialBranch = "main";

const NewProject = z
  .object({
    title: Title,
    alias: Alias,
    isPrivate: bool().default(true),
    ownerAlias: OwnerAlias,
    ownerAliasType: OwnerType.default("USER"),
    language: z.string().trim().max(64).nullish(),
    description: Description.nullish(),
  })
  .meta({ id: "NewProject" });

const postProject = route({
  method: "post",
  path: "/project",
  operationId: "createProject",
  summary: "Create a project",
  tag,
  scope: "PROJECT_WRITE",
  access: "user",
  body: NewProject,
  reply: ProjectView,
  errors: [404],
  async handle({ body, request }, deps) {
    const settings = await deps.settings();
    mustMayCreate("project", request, settings);
    if (!body.isPrivate) mustMayPublish(request, settings);
    const owner = await ownerToBe(deps.db, request.userId, {
      alias: body.ownerAlias,
      type: body.ownerAliasType,
    });
    const projectId = ProjectId.parse(deterministicId(request.commandId, "project"));
    const command = {
      type: "CreateProject",
      projectId,
      ownerId: owner.id,
      ownerType: body.ownerAliasType,
      alias: body.alias,
      title: body.title,
      description: body.description ?? null,
      language: body.language ?? null,
      private: body.isPrivate,
      defaultBranch: initialBranch,
      ...stampOf(request, deps),
    } as const;
    await request.executeProcess((metadata) => createProject(commandDeps(deps), command, metadata));
    const row = await findProjectById(deps.db, projectId);
    invariant(row !== undefined, "a created project is visible");
    return projectView(row, await addresses(deps));
  },
});

const TitleQuery = z.object({
  q: z.string().max(255).optional().meta({ description: "Part of the title." }),
});

const reading = { method: "get", tag, scope: "PROJECT_READ", reply: ProjectView } as const;

const listing = {
  ...reading,
  access: "user",
  query: TitleQuery,
  list: "projectList",
  errors: [404],
} as const;

const getPublicProjects = route({
  ...listing,
  path: "/project",
  operationId: "listProjects",
  summary: "List public projects",
  handle: ({ query, page }, deps) =>
    listedProjects(deps, { publicOnly: true, title: query.q, ...page }),
});

const getOwnProjects = route({
  ...listing,
  path: "/project/my",
  operationId: "listOwnProjects",
  summary: "List the current user's projects",
  description: "Those of the user's teams and companies too.",
  handle: ({ query, page, request }, deps) =>
    listedProjects(deps, { mine: request.userId, title: query.q, ...page }),
});

const getSharedProjects = route({
  ...listing,
  path: "/project/shared",
  operationId: "listSharedProjects",
  summary: "List projects that the current user takes part in",
  description: "By membership in them, in their team or in their company.",
  handle: ({ query, page, request }, deps) =>
    listedProjects(deps, { sharedWith: request.userId, title: query.q, ...page }),
});

export async function listedProjects(deps: Deps, filter: ProjectFilter) {
  const known = await addresses(deps);
  return listed(listProjects(deps.db, filter), (row) => projectView(row, known));
}

async function viewWithTransfer({ project, role }: ResolvedProject, deps: Deps) {
  const shown = projectView(project, await addresses(deps));
  return { ...shown, ...(await pendingTransfer(project.id, role, deps)) };
}

const getProject = route({
  ...reading,
  path: "/project/{ownerAlias}/{projectAlias}",
  operationId: "getProject",
  summary: "Get a project by its alias",
  access: "project:GUEST",
  asOf: { readModels: [projectProjection], again: findProjectById },
  handle: ({ request }, deps) => viewWithTransfer(request, deps),
});

const getProjectById = route({
  ...reading,
  path: "/project/{projectUuid}",
  operationId: "getProjectById",
  summary: "Get a project by its id",
  access: "project:GUEST",
  asOf: { readModels: [projectProjection], again: findProjectById },
  handle: ({ request }, deps) => viewWithTransfer(request, deps),
});

export const projectRoutes: readonly Route[] = [
  getOwnProjects,
  getProject,
  getProjectById,
  getPublicProjects,
  getSharedProjects,
  postProject,
];
