import type { Knex } from "knex";

import type { RegistryRepositoryId } from "../../events/core/ids.ts";
import type { Sealed } from "../../events/core/sealed.ts";
import { idInStream } from "../../events/core/stream.ts";
import { registryRepositoryEvents } from "../../events/registry/repository.ts";
import { registrySigningKeyEvents } from "../../events/registry/signing-key.ts";
import { defineProjection } from "../core/projection.ts";

export type RegistrySigningKeyRow = Readonly<{
  repository_id: RegistryRepositoryId;
  fingerprint: string;
  public_key: string;
  private_key: Sealed;
}>;

const table = "registry_signing_key";
const { RegistryRepositoryDeleted } = registryRepositoryEvents;

export const registrySigningKeyProjection = defineProjection({
  name: "registry_signing_key",
  version: 1,
  tables: [table],
  async create(tx) {
    await tx.schema.createTable(table, (columns) => {
      columns.uuid("repository_id").primary();
      columns.text("fingerprint").notNullable();
      columns.text("public_key").notNullable();
      columns.text("private_key").notNullable();
    });
  },
  events: { ...registrySigningKeyEvents, RegistryRepositoryDeleted },
  handlers: {
    RegistryRepositoryDeleted: async (tx, { stream }) => {
      await tx(table).where("repository_id", idInStream(stream)).delete();
    },
    RegistrySigningKeyCreated: async (tx, { data }) => {
      const row = {
        repository_id: data.repositoryId,
        fingerprint: data.fingerprint,
        public_key: data.publicKey,
        private_key: data.privateKey,
      };
      await tx(table).insert(row).onConflict("repository_id").merge();
    },
  },
});

export function findRegistrySigningKey(
  db: Knex,
  repositoryId: string,
): Promise<RegistrySigningKeyRow | undefined> {
  return db<RegistrySigningKeyRow>(table).where("repository_id", repositoryId).first();
}
