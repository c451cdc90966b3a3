import { z } from "zod";
import { createProject } from "../../commands/project/create-project.ts";
import { Alias, ProjectId, Uuid } from "../../events/core/ids.ts";
import { OwnerType } from "../../events/project/project.ts";
import { deterministicId } from "../../platform/deterministic-id.ts";
import { invariant } from "../../platform/invariant.ts";
import {
  findProjectById,
  listProjects,
  type ProjectFilter,
  projectProjection,
} from "../../projections/project/project.ts";
import { mustMayCreate, mustMayPublish } from "../access/create-permission.ts";
import type { ResolvedProject } from "../access/gate.ts";
import { ownerToBe } from "../access/owner.ts";
import { commandDeps, stampOf } from "../core/command-deps.ts";
import type { Deps } from "../core/deps.ts";
import type { PageRequest } from "../core/paging.ts";
import { type Route, route } from "../core/route.ts";
import { bool } from "../core/schema.ts";
import { Description, OwnerAlias, Title } from "../team/field.ts";
import { pendingTransfer } from "../team/pending-transfer.ts";
import { addresses, ProjectView, presentProject } from "./view.ts";

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
  errors: [403, 404, 422],
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
    return presentProject(row, await addresses(deps));
  },
});

const TitleQuery = z.object({
  q: z.string().max(255).optional().meta({ description: "Part of the title." }),
});

const getPublicProjects = route({
  method: "get",
  path: "/project",
  operationId: "listProjects",
  summary: "List public projects",
  tag,
  scope: "PROJECT_READ",
  access: "user",
  query: TitleQuery,
  list: "projectList",
  reply: ProjectView,
  errors: [403, 404],
  handle: ({ query, page }, deps) => listed(deps, { publicOnly: true, title: query.q }, page),
});

const getOwnProjects = route({
  method: "get",
  path: "/project/my",
  operationId: "listOwnProjects",
  summary: "List the current user's projects",
  description: "Those of the user's teams and companies too.",
  tag,
  scope: "PROJECT_READ",
  access: "user",
  query: TitleQuery,
  list: "projectList",
  reply: ProjectView,
  errors: [403, 404],
  handle: ({ query, page, request }, deps) =>
    listed(deps, { mine: request.userId, title: query.q }, page),
});

const getSharedProjects = route({
  method: "get",
  path: "/project/shared",
  operationId: "listSharedProjects",
  summary: "List projects that the current user takes part in",
  description: "By membership in them, in their team or in their company.",
  tag,
  scope: "PROJECT_READ",
  access: "user",
  query: TitleQuery,
  list: "projectList",
  reply: ProjectView,
  errors: [403, 404],
  handle: ({ query, page, request }, deps) =>
    listed(deps, { sharedWith: request.userId, title: query.q }, page),
});

async function listed(
  deps: Deps,
  filter: Omit<ProjectFilter, "limit" | "offset">,
  { size, offset }: PageRequest,
) {
  const { rows, total } = await listProjects(deps.db, { ...filter, limit: size, offset });
  const known = await addresses(deps);
  return { items: rows.map((row) => presentProject(row, known)), totalElements: total };
}

async function shownWithTransfer({ project, role }: ResolvedProject, deps: Deps) {
  const shown = presentProject(project, await addresses(deps));
  return { ...shown, ...(await pendingTransfer(project.id, role, deps)) };
}

const getProject = route({
  method: "get",
  path: "/project/{ownerAlias}/{projectAlias}",
  operationId: "getProject",
  summary: "Get a project by its alias",
  tag,
  scope: "PROJECT_READ",
  access: "project:GUEST",
  params: z.object({ ownerAlias: z.string(), projectAlias: z.string() }),
  asOf: { readModels: [projectProjection], again: findProjectById },
  reply: ProjectView,
  errors: [403, 404],
  handle: ({ request }, deps) => shownWithTransfer(request, deps),
});

const getProjectById = route({
  method: "get",
  path: "/project/{projectUuid}",
  operationId: "getProjectById",
  summary: "Get a project by its id",
  tag,
  scope: "PROJECT_READ",
  access: "project:GUEST",
  params: z.object({ projectUuid: Uuid }),
  asOf: { readModels: [projectProjection], again: findProjectById },
  reply: ProjectView,
  errors: [403, 404],
  handle: ({ request }, deps) => shownWithTransfer(request, deps),
});

export const projectRoutes: readonly Route[] = [
  getOwnProjects,
  getProject,
  getProjectById,
  getPublicProjects,
  getSharedProjects,
  postProject,
];
