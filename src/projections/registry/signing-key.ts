import type { Knex } from "knex";

import type { RegistryRepositoryId } from "../../events/core/ids.ts";
import type { Sealed } from "../../events/core/sealed.ts";
import { idInStream } from "../../events/core/stream.ts";
import { registryRepositoryEvents } from "../../events/registry/repository.ts";
import { registrySigningKeyEvents } from "../../events/registry/signing-key.ts";
import { put, remove } from "../core/change.ts";
import { defineReadModel } from "../core/read-model.ts";
import { column, defineTable, type RowOf } from "../core/table.ts";

const table = "registry_signing_key";
const { RegistryRepositoryDeleted } = registryRepositoryEvents;

const signingKeys = defineTable({
  name: table,
  columns: {
    repository_id: column<RegistryRepositoryId>("uuid"),
    fingerprint: "text",
    public_key: "text",
    private_key: column<Sealed>("text"),
  },
  key: ["repository_id"],
});

export type RegistrySigningKeyRow = RowOf<typeof signingKeys>;

export const registrySigningKeyProjection = defineReadModel({
  name: "registry_signing_key",
  version: 2,
  tables: [signingKeys],
  events: { ...registrySigningKeyEvents, RegistryRepositoryDeleted },
  effects: {
    RegistryRepositoryDeleted: ({ stream }) =>
      remove(signingKeys, { repository_id: idInStream(stream) as RegistryRepositoryId }),
    RegistrySigningKeyCreated: ({ data }) =>
      put(signingKeys, {
        repository_id: data.repositoryId,
        fingerprint: data.fingerprint,
        public_key: data.publicKey,
        private_key: data.privateKey,
      }),
  },
});

export function findRegistrySigningKey(
  db: Knex,
  repositoryId: string,
): Promise<RegistrySigningKeyRow | undefined> {
  return db<RegistrySigningKeyRow>(table).where("repository_id", repositoryId).first();
}
