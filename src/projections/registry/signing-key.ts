import type { Knex } from "knex";

import type { RegistryRepositoryId } from "../../events/core/ids.ts";
import type { Sealed } from "../../events/core/sealed.ts";
import { idInStream } from "../../events/core/stream.ts";
import { registryRepositoryEvents } from "../../events/registry/repository.ts";
import { registrySigningKeyEvents } from "../../events/registry/signing-key.ts";
import { put, remove } from "../core/change.ts";
import { defineReadModel } from "../core/read-model.ts";
import { defineTable } from "../core/table.ts";

export type RegistrySigningKeyRow = Readonly<{
  repository_id: RegistryRepositoryId;
  fingerprint: string;
  public_key: string;
  private_key: Sealed;
}>;

const table = "registry_signing_key";
const { RegistryRepositoryDeleted } = registryRepositoryEvents;

const signingKeys = defineTable<RegistrySigningKeyRow>({
  name: table,
  columns: {
    repository_id: "uuid",
    fingerprint: "text",
    public_key: "text",
    private_key: "text",
  },
  key: ["repository_id"],
});

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
