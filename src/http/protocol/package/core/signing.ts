import { LRUCache } from "lru-cache";

import { handle } from "../../../../commands/core/handle.ts";
import { registrySigningKey } from "../../../../commands/registry/signing-key.ts";
import { bySystem } from "../../../../events/core/system.ts";
import { deterministicId } from "../../../../platform/deterministic-id.ts";
import { makeSigningKey, type Signer, signerOf } from "../../../../platform/key/openpgp.ts";
import { Refusal } from "../../../../platform/refusal.ts";
import type { RegistryRepositoryRow } from "../../../../projections/registry/repository.ts";
import {
  findRegistrySigningKey,
  type RegistrySigningKeyRow,
} from "../../../../projections/registry/signing-key.ts";
import { subjectOf } from "../../../api/registry/settings.ts";
import { streamAnswer } from "../../../core/answer.ts";
import type { Deps } from "../../../core/deps.ts";
import { cachedDocument } from "./document.ts";
import type { NativeCall } from "./type.ts";

/** Of repositories that signed something lately, by fingerprint. */
const signers = new LRUCache<string, Signer>({ max: 100 });

/** The repository's key, which is made when it is first needed. */
async function signingKeyOf(
  repository: RegistryRepositoryRow,
  deps: Deps,
): Promise<RegistrySigningKeyRow> {
  const known = await findRegistrySigningKey(deps.db, repository.id);
  if (known !== undefined) return known;
  // One at a time: it takes seconds of a core.
  await cachedDocument(
    `signing-key:${repository.id}`,
    () => create(repository, deps),
    () => 1,
  );
  const made = await findRegistrySigningKey(deps.db, repository.id);
  if (made !== undefined) return made;
  throw new Refusal(
    "unavailable",
    "projection.lagging",
    "The signing key is not ready. Try again.",
  );
}

async function create(repository: RegistryRepositoryRow, deps: Deps): Promise<object> {
  const { id, name, created_at, owner_type: ownerType, owner_id: ownerId } = repository;
  const key = await makeSigningKey(`Packages of ${name}`, created_at);
  const subject = subjectOf({ repositoryId: id, owner: { ownerType, ownerId } });
  const at = deps.now().toISOString();
  const data = {
    repositoryId: id,
    fingerprint: key.fingerprint,
    publicKey: key.publicKey,
    privateKey: await deps.vault.seal(subject, key.privateKey),
    createdAt: at,
  };
  const { position } = await handle(deps.store, registrySigningKey, {
    id,
    command: { type: "CreateRegistrySigningKey", key: data },
    metadata: bySystem({ commandId: deterministicId("registry signing key", id) }, at),
  });
  await deps.visible(position);
  return {};
}

export async function signerFor(repository: RegistryRepositoryRow, deps: Deps): Promise<Signer> {
  const { fingerprint, private_key } = await signingKeyOf(repository, deps);
  const known = signers.get(fingerprint);
  if (known !== undefined) return known;
  const armored = await deps.vault.open(private_key);
  if (armored === null) {
    throw new Refusal("not_found", "registry_repository.not_found", "The repository is gone.");
  }
  const signer = await signerOf(armored);
  signers.set(fingerprint, signer);
  return signer;
}

/** The public key, for clients to trust. */
export const getSigningKey: NativeCall = {
  method: "GET",
  path: /^repository\.key$/,
  right: "read",
  operationId: "get-registry-signing-key",
  async handle({ repository }, deps) {
    const { public_key } = await signingKeyOf(repository, deps);
    return streamAnswer(200, { body: public_key, type: "application/pgp-keys" });
  },
};
