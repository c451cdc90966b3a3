import {
  createRegistryRepository,
  deleteRegistryRepository,
} from "../../../commands/registry/create-repository.ts";
import {
  registryRepository,
  registryRepositoryNotFound,
} from "../../../commands/registry/repository.ts";
import { RegistryRepositoryId } from "../../../events/core/ids.ts";
import { deterministicId } from "../../../platform/deterministic-id.ts";
import { Refusal } from "../../../platform/refusal.ts";
import type { Part } from "../../../projections/list/list-rows.ts";
import { isProjectAlias } from "../../../projections/project/project.ts";
import {
  findRegistryRepository,
  isIncluded,
  listRegistryRepositories,
  type RegistryRepositoryRow,
  registryRepositoryProjection,
} from "../../../projections/registry/repository.ts";
import { commandDeps } from "../../core/command-deps.ts";
import type { Deps } from "../../core/deps.ts";
import { listed } from "../../core/paging.ts";
import type { RequestContext } from "../../core/request.ts";
import { type Route, type RoutePath, route } from "../../core/route.ts";
import { authenticatedStamp } from "../../protocol/package/core/stamp.ts";
import { ChangedRepository, NewRepository } from "./body.ts";
import {
  instanceByProject,
  instanceScope,
  ownerOf,
  type RegistryScope,
  registryScopes,
} from "./owner.ts";
import { changedSettings, mustBeNamable, settingsOf } from "./settings.ts";
import { RegistryRepositoryView, repositoryView } from "./view.ts";

const tag = "Registry repositories";
const list = "shortRegistryRepositoryDtoList";
const reading = { tag, scope: "READ_REGISTRY", reply: RegistryRepositoryView } as const;
const writing = { tag, scope: "WRITE_REGISTRY", reply: RegistryRepositoryView } as const;

/** Opens the repositories of the instance to callers without a token. */
export const anonymously = ({ read }: RegistryScope) =>
  read === "user:READER" ? ({ anonymousWhen: "globalRegistryAnonymousAccess" } as const) : {};

/** The instance has no past of its own. */
const asOfOwner = ({ noun }: RegistryScope) =>
  noun !== "Instance" && { asOf: { readModels: [registryRepositoryProjection] } };

const at = <Rest extends string>(
  scope: RegistryScope,
  rest: Rest,
): Readonly<{ path: `${RoutePath}${Rest}`; alsoAt?: RoutePath[] }> => ({
  path: `${scope.path}${rest}`,
  ...(scope.alsoAt && { alsoAt: [`${scope.alsoAt}${rest}`] }),
});

/** The same of one repository. */
export const atRepository = <Rest extends string>(scope: RegistryScope, rest: Rest) =>
  at(scope, `/{registryRepositoryUuid}${rest}`);

function readingAt(scope: RegistryScope): readonly Route[] {
  const { noun, read } = scope;
  return [
    route({
      ...reading,
      ...anonymously(scope),
      ...at(scope, ""),
      method: "get",
      operationId: `list${noun}RegistryRepositories`,
      summary: "List the repositories of packages, oldest first",
      access: read,
      list,
      ...asOfOwner(scope),
      errors: [404],
      handle: ({ page, request }, deps) => repositories(page, request, deps),
    }),
    route({
      ...reading,
      ...anonymously(scope),
      ...atRepository(scope, ""),
      method: "get",
      operationId: `get${noun}RegistryRepository`,
      summary: "Get a repository of packages",
      access: read,
      ...asOfOwner(scope),
      handle: async ({ params: { registryRepositoryUuid: id }, request }, deps) =>
        repositoryView(await mustFindRepository(id, request, deps)),
    }),
  ];
}

function writingAt(scope: RegistryScope): readonly Route[] {
  const { noun, manage } = scope;
  return [
    route({
      ...writing,
      ...at(scope, ""),
      method: "post",
      operationId: `create${noun}RegistryRepository`,
      summary: "Create a repository of packages",
      access: manage,
      body: NewRepository,
      status: 201,
      errors: [404],
      handle: ({ body, request }, deps) => create(body, request, deps),
    }),
    route({
      ...writing,
      ...atRepository(scope, ""),
      method: "put",
      operationId: `change${noun}RegistryRepository`,
      summary: "Change a repository of packages",
      access: manage,
      body: ChangedRepository,
      handle: ({ params: { registryRepositoryUuid: id }, body, request }, deps) =>
        reconfigure(id, body, request, deps),
    }),
    route({
      ...writing,
      ...atRepository(scope, ""),
      method: "delete",
      operationId: `delete${noun}RegistryRepository`,
      summary: "Delete a repository with all packages in it",
      description: "Refused while a virtual repository includes it.",
      access: manage,
      reply: "empty",
      status: 204,
      errors: [409],
      handle: ({ params: { registryRepositoryUuid: id }, request }, deps) =>
        remove(id, request, deps),
    }),
  ];
}

const { read: instanceRead, manage: instanceManage } = instanceScope;
const { path: projectForm, params: ProjectFormParams } = instanceByProject;

/** The same repositories as at the instance's own path. */
const byProject: readonly Route[] = [
  route({
    ...reading,
    ...anonymously(instanceScope),
    method: "get",
    path: projectForm,
    operationId: "listInstanceRegistryRepositoriesByProject",
    summary: "List the repositories of packages of the instance",
    access: instanceRead,
    params: ProjectFormParams,
    list,
    async handle({ params, page, request }, deps) {
      await mustNameProject(params.projectAlias, deps);
      return repositories(page, request, deps);
    },
  }),
  route({
    ...reading,
    ...anonymously(instanceScope),
    method: "get",
    path: `${projectForm}/{registryRepositoryUuid}`,
    operationId: "getInstanceRegistryRepositoryByProject",
    summary: "Get a repository of packages of the instance",
    access: instanceRead,
    params: ProjectFormParams,
    async handle({ params, request }, deps) {
      await mustNameProject(params.projectAlias, deps);
      return repositoryView(await mustFindRepository(params.registryRepositoryUuid, request, deps));
    },
  }),
  route({
    ...writing,
    method: "post",
    path: projectForm,
    operationId: "createInstanceRegistryRepositoryByProject",
    summary: "Create a repository of packages of the instance",
    access: instanceManage,
    params: ProjectFormParams,
    body: NewRepository,
    status: 201,
    async handle({ params, body, request }, deps) {
      await mustNameProject(params.projectAlias, deps);
      return create(body, request, deps);
    },
  }),
];

export const registryRepositoryRoutes: readonly Route[] = [
  ...registryScopes.flatMap((scope) => [...readingAt(scope), ...writingAt(scope)]),
  ...byProject,
];

const repositories = (page: Part, request: RequestContext, { db }: Deps) =>
  listed(listRegistryRepositories(db, ownerOf(request), page), repositoryView);

async function create(body: NewRepository, request: RequestContext, deps: Deps) {
  const repositoryId = RegistryRepositoryId.parse(
    deterministicId(request.commandId, "registry repository"),
  );
  mustBeNamable(body);
  const owner = ownerOf(request);
  const { repositoryName: name, packageType, description } = body;
  const command = {
    type: "CreateRegistryRepository",
    repositoryId,
    owner,
    name,
    packageType,
    description: description || null,
    settings: await settingsOf(body, { repositoryId, owner, packageType }, deps),
    ...authenticatedStamp(request, deps),
  } as const;
  await request.executeProcess((metadata) =>
    createRegistryRepository(commandDeps(deps), command, metadata),
  );
  return repositoryView(await mustFindRepository(repositoryId, request, deps));
}

async function reconfigure(
  id: string,
  body: ChangedRepository,
  request: RequestContext,
  deps: Deps,
) {
  const { id: repositoryId, package_type: packageType } = await mustFindRepository(
    id,
    request,
    deps,
  );
  const owner = ownerOf(request);
  const { description } = body;
  const command = {
    type: "ReconfigureRegistryRepository",
    owner,
    ...(description !== undefined && { description: description || null }),
    settings: await changedSettings(body, { repositoryId, owner, packageType }, deps),
    ...authenticatedStamp(request, deps),
  } as const;
  await request.execute(registryRepository, id, command);
  return repositoryView(await mustFindRepository(id, request, deps));
}

async function remove(id: string, request: RequestContext, deps: Deps): Promise<void> {
  const { name } = await mustFindRepository(id, request, deps);
  const command = {
    type: "DeleteRegistryRepository",
    owner: ownerOf(request),
    isIncluded: await isIncluded(deps.db, id),
    ...authenticatedStamp(request, deps),
  } as const;
  await request.executeProcess((metadata) =>
    deleteRegistryRepository(commandDeps(deps), { id, name, command }, metadata),
  );
}

/** @throws Refusal 404, also for a repository of another owner */
export async function mustFindRepository(
  id: string,
  request: RequestContext,
  { db }: Pick<Deps, "db">,
): Promise<RegistryRepositoryRow> {
  const row = await findRegistryRepository(db, ownerOf(request), id);
  if (row === undefined) throw registryRepositoryNotFound();
  return row;
}

async function mustNameProject(alias: string, { db }: Pick<Deps, "db">): Promise<void> {
  if (await isProjectAlias(db, alias)) return;
  throw new Refusal("not_found", "project.not_found", "Project not found.");
}
