import { LRUCache } from "lru-cache";
import { z } from "zod";

import { type CommandResult, handle } from "../../../commands/core/handle.ts";
import { packageVersion } from "../../../commands/package/version.ts";
import type {
  PackageId,
  PackageVersionId,
  RegistryRepositoryId,
} from "../../../events/core/ids.ts";
import type { Part } from "../../../projections/list/list-rows.ts";
import {
  findLivePackage,
  findVersionOf,
  listDeletedVersions,
  listLivePackages,
  listLiveVersions,
  liveVersionIds,
  type PackageBoundary,
} from "../../../projections/package/live.ts";
import type { PackageRow } from "../../../projections/package/table.ts";
import { countLivePackages } from "../../../projections/package/total.ts";
import type { Deps } from "../../core/deps.ts";
import { listed } from "../../core/paging.ts";
import type { RequestContext } from "../../core/request.ts";
import { type Route, route } from "../../core/route.ts";
import { instant } from "../../core/schema.ts";
import { stateOfRepository } from "../../protocol/package/core/document.ts";
import { localSources, mustAllowDeletion } from "../../protocol/package/core/source.ts";
import { authenticatedStamp } from "../../protocol/package/core/stamp.ts";
import { change } from "../../protocol/package/core/store.ts";
import { packageNotFound, versionNotFound } from "../package/request.ts";
import {
  PackageVersionView,
  PackageView,
  packageVersionViews,
  packageViews,
} from "../package/view.ts";
import { type RegistryScope, registryScopes } from "./owner.ts";
import { anonymously, atRepository, mustFindRepository } from "./repository.ts";

const tag = "Registry repositories";
const deletedAtOnce = 100;
const boundaryBytesMax = 8 * 1024 ** 2;
/** Of an entry without its texts, about. */
const boundaryBytes = 200;
/**
 * What pages begin with, by the state of the repository and how many packages are before them: who goes on page by page
 * does not make the database count from the beginning each time.
 */
const boundaries = new LRUCache<string, PackageBoundary>({
  maxSize: boundaryBytesMax,
  // The state of a virtual repository names each of its sources.
  sizeCalculation: ({ name }, key) => 2 * (name.length + key.length) + boundaryBytes,
});
const dayMs = 24 * 60 * 60_000;

const DeletedVersionView = z
  .object({
    id: z.uuid(),
    packageName: z.string(),
    version: z.string(),
    deletedAt: instant(),
    keptUntil: instant().meta({ description: "So long it can be restored." }),
  })
  .meta({ id: "DeletedPackageVersion" });

function readingAt(scope: RegistryScope): readonly Route[] {
  const { noun, read } = scope;
  const reading = { ...anonymously(scope), tag, scope: "READ_REGISTRY", access: read } as const;
  return [
    route({
      ...reading,
      ...atRepository(scope, "/package"),
      method: "get",
      operationId: `list${noun}RepositoryPackages`,
      summary: "List the packages of a repository by name",
      description: "Of a virtual repository, those of the local repositories that it is made of.",
      list: "simplePackageInfoModelList",
      reply: PackageView,
      handle: ({ params: { registryRepositoryUuid: id }, page, request }, deps) =>
        listedPackages(id, page, request, deps),
    }),
    route({
      ...reading,
      ...atRepository(scope, "/package/{packageUuid}/version"),
      method: "get",
      operationId: `list${noun}RepositoryPackageVersions`,
      summary: "List the versions of a package of a repository, newest first",
      list: "simplePackageVersionModelList",
      reply: PackageVersionView,
      async handle({ params, page, request }, deps) {
        const ids = await registriesOf(params.registryRepositoryUuid, request, deps);
        const found = await mustFindPackage(ids, params.packageUuid, deps);
        const { rows, total } = await listLiveVersions(deps.db, found, page);
        const items = await packageVersionViews(deps.db, found.type, rows);
        return { items, totalElements: total };
      },
    }),
    route({
      ...reading,
      ...atRepository(scope, "/trash"),
      method: "get",
      operationId: `list${noun}RepositoryTrash`,
      summary: "List the deleted versions that can be restored, newest first",
      list: "deletedPackageVersionList",
      reply: DeletedVersionView,
      async handle({ params, page, request }, deps) {
        const ids = await registriesOf(params.registryRepositoryUuid, request, deps);
        const found = listDeletedVersions(deps.db, ids, { since: keptSince(deps), ...page });
        const keptMs = deps.config.projectRetentionDays * dayMs;
        return listed(found, ({ id, name, version, deleted_at }) => ({
          id,
          packageName: name,
          version,
          deletedAt: deleted_at,
          keptUntil: new Date(deleted_at.getTime() + keptMs),
        }));
      },
    }),
  ];
}

function writingAt(scope: RegistryScope): readonly Route[] {
  const { noun, write } = scope;
  const writing = { tag, scope: "WRITE_REGISTRY", access: write } as const;
  return [
    route({
      ...writing,
      ...atRepository(scope, "/package/{packageUuid}"),
      method: "delete",
      operationId: `delete${noun}RepositoryPackage`,
      summary: "Delete all versions of a package of a repository",
      description: "They go to the trash. 405 unless the repository lets packages be deleted.",
      reply: "empty",
      status: 204,
      errors: [405],
      handle: ({ params, request }, deps) => removePackage(params, request, deps),
    }),
    route({
      ...writing,
      ...atRepository(scope, "/package/{packageUuid}/version/{versionUuid}"),
      method: "delete",
      operationId: `delete${noun}RepositoryPackageVersion`,
      summary: "Delete a version of a package of a repository",
      description: "It goes to the trash. 405 unless the repository lets packages be deleted.",
      reply: "empty",
      status: 204,
      errors: [405],
      async handle({ params: { versionUuid: id, ...params }, request }, deps) {
        const { id: packageId } = await mustFindDeletable(params, request, deps);
        const row = await findVersionOf(deps.db, packageId, id);
        if (row === undefined || row.deleted_at !== null) throw versionNotFound();
        await change({ id, command: { type: "DeletePackageVersion", packageId } }, request, deps);
      },
    }),
    route({
      ...writing,
      ...atRepository(scope, "/trash/{versionUuid}/restore"),
      method: "post",
      operationId: `restore${noun}RepositoryPackageVersion`,
      summary: "Restore a deleted version of a package",
      reply: PackageVersionView,
      handle: ({ params, request }, deps) => restore(params, request, deps),
    }),
  ];
}

export const registryPackageRoutes: readonly Route[] = registryScopes.flatMap((scope) => [
  ...readingAt(scope),
  ...writingAt(scope),
]);

/** Ids of the local repositories that a repository is made of. @throws Refusal 404 */
async function registriesOf(
  id: string,
  request: RequestContext,
  deps: Deps,
): Promise<readonly string[]> {
  const sources = await localSources(await mustFindRepository(id, request, deps), deps);
  return sources.map((source) => source.id);
}

async function listedPackages(
  id: string,
  { limit, offset }: Part,
  request: RequestContext,
  deps: Deps,
) {
  const { key, sources } = await stateOfRepository(
    await mustFindRepository(id, request, deps),
    deps,
  );
  const ids = sources.map((source) => source.id);
  const from = boundaries.get(`${key}@${offset}`);
  // One more than the page: the next one begins with it.
  const page = { limit: limit + 1, ...(from === undefined ? { offset } : { offset: 0, from }) };
  const [rows, totalElements] = await Promise.all([
    listLivePackages(deps.db, ids, page),
    countLivePackages(deps.db, ids),
  ]);
  noteBoundary(`${key}@${offset}`, rows[0]);
  noteBoundary(`${key}@${offset + limit}`, rows[limit]);
  const shown = rows.slice(0, limit);
  return { items: await packageViews(deps.db, shown), totalElements };
}

function noteBoundary(key: string, row: PackageBoundary | undefined): void {
  if (row !== undefined) boundaries.set(key, { name: row.name, id: row.id });
}

async function mustFindPackage(
  registryIds: readonly string[],
  id: string,
  { db }: Pick<Deps, "db">,
): Promise<PackageRow> {
  const row = await findLivePackage(db, registryIds, id);
  if (row === undefined) throw packageNotFound();
  return row;
}

type PackageIn = Readonly<{
  registryRepositoryUuid: RegistryRepositoryId;
  packageUuid: PackageId;
}>;

/** @throws Refusal 404, 405 */
async function mustFindDeletable(
  { registryRepositoryUuid, packageUuid }: PackageIn,
  request: RequestContext,
  deps: Deps,
): Promise<PackageRow> {
  const repository = await mustFindRepository(registryRepositoryUuid, request, deps);
  mustAllowDeletion(repository);
  return await mustFindPackage([repository.id], packageUuid, deps);
}

async function removePackage(of: PackageIn, request: RequestContext, deps: Deps): Promise<void> {
  const { id: packageId } = await mustFindDeletable(of, request, deps);
  const stamp = authenticatedStamp(request, deps);
  const command = { type: "DeletePackageVersion", packageId, ...stamp } as const;
  for (;;) {
    const ids = await liveVersionIds(deps.db, packageId, deletedAtOnce);
    await request.executeProcess(async (metadata) => {
      let result: CommandResult = { position: undefined };
      for (const id of ids) {
        result = await handle(deps.store, packageVersion, { id, command, metadata });
      }
      return result;
    });
    if (ids.length < deletedAtOnce) return;
  }
}

async function restore(
  {
    registryRepositoryUuid,
    versionUuid: id,
  }: Readonly<{ registryRepositoryUuid: RegistryRepositoryId; versionUuid: PackageVersionId }>,
  request: RequestContext,
  deps: Deps,
) {
  const repository = await mustFindRepository(registryRepositoryUuid, request, deps);
  const page = { since: keptSince(deps), limit: 1, offset: 0, id };
  const [row] = (await listDeletedVersions(deps.db, [repository.id], page)).rows;
  if (row === undefined) throw versionNotFound();
  const command = { type: "RestorePackageVersion", packageId: row.package_id } as const;
  await change({ id, command }, request, deps);
  const found = await findVersionOf(deps.db, row.package_id, id);
  const [view] = found ? await packageVersionViews(deps.db, row.type, [found]) : [];
  if (view === undefined) throw versionNotFound();
  return view;
}

const keptSince = ({ now, config }: Pick<Deps, "now" | "config">): Date =>
  new Date(now().getTime() - config.projectRetentionDays * dayMs);
