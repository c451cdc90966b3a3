import type { Knex } from "knex";

import type { RegistryRepositoryId } from "../../events/core/ids.ts";
import { idInStream } from "../../events/core/stream.ts";
import type { PackageType } from "../../events/package/version.ts";
import {
  type RegistryOwner,
  type RegistryOwnerType,
  type RepositorySettings,
  registryRepositoryEvents,
} from "../../events/registry/repository.ts";
import { companyEvents } from "../../events/team/company.ts";
import { change, put, remove } from "../core/change.ts";
import { purgeEvents } from "../core/purge.ts";
import { defineReadModel } from "../core/read-model.ts";
import { column, defineTable, type RowOf } from "../core/table.ts";
import { oldestFirst, type Part, type Slice } from "../list/list-rows.ts";

const table = "registry_repository";
const { CompanyDeleted } = companyEvents;

const repositories = defineTable({
  name: table,
  columns: {
    id: column<RegistryRepositoryId>("uuid"),
    owner_type: column<RegistryOwnerType>("text"),
    owner_id: "text",
    name: "text",
    package_type: column<PackageType>("text"),
    description: "text null",
    settings: column<RepositorySettings>("jsonb"),
    created_at: "timestamptz",
  },
  key: ["id"],
  indexes: ["(owner_id, created_at, id)"],
  lateIndexes: [
    "(owner_id, lower(name))",
    // Which virtual repositories include a repository.
    "using gin ((settings -> 'includedRepositoryIds'))",
    "((settings ->> 'deploymentRepositoryId'))",
  ],
});

export type RegistryRepositoryRow = RowOf<typeof repositories>;

export const registryRepositoryProjection = defineReadModel({
  name: "registry_repository",
  version: 2,
  tables: [repositories],
  // Anonymous access depends on the settings of a repository, which requests cache.
  announces: "access",
  events: { ...registryRepositoryEvents, ...purgeEvents, CompanyDeleted },
  effects: {
    RegistryRepositoryCreated: ({ data }) =>
      put(repositories, {
        id: data.repositoryId,
        owner_type: data.ownerType,
        owner_id: data.ownerId,
        name: data.name,
        package_type: data.packageType,
        description: data.description,
        settings: data.settings,
        created_at: new Date(data.createdAt),
      }),
    RegistryRepositoryReconfigured: ({ stream, data: { description, settings } }) =>
      change(repositories, idOf(stream), { description, settings }),
    RegistryRepositoryDeleted: ({ stream }) => remove(repositories, idOf(stream)),
    ProjectPurged: ({ data }) => remove(repositories, { owner_id: data.projectId }),
    CompanyDeleted: ({ stream }) => remove(repositories, { owner_id: idInStream(stream) }),
  },
});

const idOf = (stream: string) => ({ id: idInStream(stream) as RegistryRepositoryId });

/** A repository of this owner; one of another owner is not found. */
export function findRegistryRepository(
  db: Knex,
  { ownerType, ownerId }: RegistryOwner,
  id: string,
): Promise<RegistryRepositoryRow | undefined> {
  return db<RegistryRepositoryRow>(table)
    .where({ owner_type: ownerType, owner_id: ownerId })
    .andWhere("id", id)
    .first();
}

/** By its name, without regard to case. */
export function findRegistryRepositoryNamed(
  db: Knex,
  { ownerType, ownerId }: RegistryOwner,
  name: string,
): Promise<RegistryRepositoryRow | undefined> {
  return db<RegistryRepositoryRow>(table)
    .where({ owner_type: ownerType, owner_id: ownerId })
    .andWhereRaw("lower(name) = ?", [name.toLowerCase()])
    .first();
}

/** In no particular order; those that do not exist are left out. */
export async function registryRepositoriesWithIds(
  db: Knex,
  ids: readonly string[],
): Promise<ReadonlyMap<string, RegistryRepositoryRow>> {
  const rows = await db<RegistryRepositoryRow>(table).whereRaw("id = any(?::uuid[])", [[...ids]]);
  return new Map(rows.map((row) => [row.id, row]));
}

export function listRegistryRepositories(
  db: Knex,
  { ownerType, ownerId }: RegistryOwner,
  part: Part,
): Promise<Slice<RegistryRepositoryRow>> {
  const where = { owner_type: ownerType, owner_id: ownerId };
  return oldestFirst<RegistryRepositoryRow>(db, { table, where, ...part });
}

/** Whether a virtual repository of any owner includes it or deploys to it. */
export async function isIncluded(db: Knex, id: string): Promise<boolean> {
  const row = await db(table)
    .whereRaw("settings -> 'includedRepositoryIds' @> ?::jsonb", [JSON.stringify([id])])
    .orWhereRaw("settings ->> 'deploymentRepositoryId' = ?", [id])
    .first("id");
  return row !== undefined;
}
