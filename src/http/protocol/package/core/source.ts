import type { PackageId } from "../../../../events/core/ids.ts";
import type { PackageType } from "../../../../events/package/version.ts";
import type { VirtualSettings } from "../../../../events/registry/repository.ts";
import { type PackageName, packageIdOf } from "../../../../package/core/coordinates.ts";
import { Refusal } from "../../../../platform/refusal.ts";
import { packagesWithIds } from "../../../../projections/package/registry.ts";
import {
  type RegistryRepositoryRow,
  registryRepositoriesWithIds,
} from "../../../../projections/registry/repository.ts";
import type { Deps } from "../../../core/deps.ts";
import { depthMax } from "./member.ts";

type Db = Pick<Deps, "db">;

/**
 * The local repositories that a repository is made of, in the order in which they are searched: itself, or
 * the members of a virtual one and theirs. Each is named once.
 */
export async function localSources(
  repository: RegistryRepositoryRow,
  deps: Db,
): Promise<readonly RegistryRepositoryRow[]> {
  const sources = await sourcesOf(repository, deps, () => true);
  return sources.filter(({ settings }) => settings.type === "LOCAL");
}

/** Local repositories and proxies, each once. */
async function sourcesOf(
  repository: RegistryRepositoryRow,
  { db }: Db,
  opens: (settings: VirtualSettings) => boolean,
): Promise<readonly RegistryRepositoryRow[]> {
  const found = new Map<string, RegistryRepositoryRow>();
  const visited = new Set<string>();
  const visit = async (row: RegistryRepositoryRow, depth: number): Promise<void> => {
    if (visited.has(row.id) || depth > depthMax + 1) return;
    visited.add(row.id);
    const { settings } = row;
    if (settings.type !== "VIRTUAL") return void found.set(row.id, row);
    if (!opens(settings)) return;
    const members = await registryRepositoriesWithIds(db, settings.includedRepositoryIds);
    for (const id of settings.includedRepositoryIds) {
      const member = members.get(id);
      if (member !== undefined) await visit(member, depth + 1);
    }
  };
  await visit(repository, 0);
  return [...found.values()];
}

/**
 * The proxies that a repository is made of, in order: itself, or those that are members of a virtual one and of
 * virtual ones in it, as far as each lets proxies be queried.
 */
export async function proxySources(
  repository: RegistryRepositoryRow,
  deps: Db,
): Promise<readonly RegistryRepositoryRow[]> {
  return (
    await sourcesOf(repository, deps, ({ allowRemoteProxying }) => allowRemoteProxying)
  ).filter(({ settings }) => settings.type === "PROXY");
}

type Named = Readonly<{ type: PackageType; name: PackageName }>;

/** Ids that a package has in each of the local repositories, in order, whether or not it is there. */
export async function packageIdsFor(
  repository: RegistryRepositoryRow,
  { type, name }: Named,
  deps: Db,
): Promise<readonly PackageId[]> {
  const isLocal = repository.settings.type === "LOCAL";
  const sources = isLocal ? [repository] : await localSources(repository, deps);
  return sources.map(({ id }) => packageIdOf(id, type, name));
}

/** Ids of a package in the local repositories that have it, deleted versions included, in order. */
export async function packageIdsIn(
  repository: RegistryRepositoryRow,
  named: Named,
  deps: Db,
): Promise<readonly PackageId[]> {
  const ids = await packageIdsFor(repository, named, deps);
  const existing = await packagesWithIds(deps.db, ids);
  return ids.filter((id) => existing.has(id));
}

/**
 * The local repository that takes what is stored in a repository.
 *
 * @throws Refusal 405 when there is none
 */
export async function deploymentOf(
  repository: RegistryRepositoryRow,
  { db }: Db,
): Promise<RegistryRepositoryRow> {
  const { settings } = repository;
  if (settings.type === "LOCAL") return repository;
  if (settings.type === "PROXY") {
    throw new Refusal("not_allowed", "registry.proxy_read_only", "A proxy takes no packages.");
  }
  const id = settings.deploymentRepositoryId;
  const target = id === null ? undefined : (await registryRepositoriesWithIds(db, [id])).get(id);
  if (target !== undefined) return target;
  const message = "This virtual repository has no default repository for deployment.";
  throw new Refusal("not_allowed", "registry.no_deployment_repository", message);
}

/** @throws Refusal 405 unless the repository lets packages be deleted */
export function mustAllowDeletion({ settings }: RegistryRepositoryRow): void {
  if (settings.type === "LOCAL" && settings.isDeletePackageAllowed) return;
  const message = "Packages of this repository may not be deleted.";
  throw new Refusal("not_allowed", "package.deletion_forbidden", message);
}
