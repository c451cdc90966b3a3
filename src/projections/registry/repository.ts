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
import { oldestFirst, type Part } from "../core/list-rows.ts";
import { defineProjection } from "../core/projection.ts";
import { purgeEvents } from "../core/purge.ts";
import type { Slice } from "../user/user.ts";

export type RegistryRepositoryRow = Readonly<{
  id: RegistryRepositoryId;
  owner_type: RegistryOwnerType;
  owner_id: string;
  name: string;
  package_type: PackageType;
  description: string | null;
  settings: RepositorySettings;
  created_at: Date;
}>;

const table = "registry_repository";
const { CompanyDeleted } = companyEvents;

export const registryRepositoryProjection = defineProjection({
  name: "registry_repository",
  version: 1,
  tables: [table],
  // Anonymous access depends on the settings of a repository, which requests cache.
  announces: "access",
  async create(tx) {
    await tx.schema.createTable(table, (columns) => {
      columns.uuid("id").primary();
      columns.text("owner_type").notNullable();
      columns.text("owner_id").notNullable();
      columns.text("name").notNullable();
      columns.text("package_type").notNullable();
      columns.text("description");
      columns.jsonb("settings").notNullable();
      columns.timestamp("created_at").notNullable();
      columns.index(["owner_id", "created_at", "id"]);
    });
    await tx.raw("create index on ?? (owner_id, lower(name))", [table]);
    // Which virtual repositories include a repository.
    await tx.raw("create index on ?? using gin ((settings -> 'includedRepositoryIds'))", [table]);
    await tx.raw("create index on ?? ((settings ->> 'deploymentRepositoryId'))", [table]);
  },
  events: { ...registryRepositoryEvents, ...purgeEvents, CompanyDeleted },
  handlers: {
    ProjectPurged: async (tx, { data }) => {
      await tx(table).where("owner_id", data.projectId).delete();
    },
    CompanyDeleted: async (tx, { stream }) => {
      await tx(table).where("owner_id", idInStream(stream)).delete();
    },
    RegistryRepositoryCreated: async (tx, { data }) => {
      const row = {
        id: data.repositoryId,
        owner_type: data.ownerType,
        owner_id: data.ownerId,
        name: data.name,
        package_type: data.packageType,
        description: data.description,
        settings: JSON.stringify(data.settings),
        created_at: new Date(data.createdAt),
      };
      await tx(table).insert(row).onConflict("id").merge();
    },
    RegistryRepositoryReconfigured: async (tx, { stream, data: { description, settings } }) => {
      const change = { description, settings: JSON.stringify(settings) };
      await tx(table).where("id", idInStream(stream)).update(change);
    },
    RegistryRepositoryDeleted: async (tx, { stream }) => {
      await tx(table).where("id", idInStream(stream)).delete();
    },
  },
});

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
