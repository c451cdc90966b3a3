import type { Knex } from "knex";

import type { RegistryRepositoryId } from "../../../../events/core/ids.ts";
import type { PackageType } from "../../../../events/package/version.ts";
import type { RegistryOwner } from "../../../../events/registry/repository.ts";
import {
  type RegistryRepositoryRow,
  registryRepositoriesWithIds,
} from "../../../../projections/registry/repository.ts";
import { invalid } from "../../../core/schema.ts";

type Members = Readonly<{
  /** The virtual repository. */
  repositoryId: RegistryRepositoryId;
  owner: RegistryOwner;
  packageType: PackageType;
  included: readonly RegistryRepositoryId[];
  deployment: RegistryRepositoryId | null | undefined;
}>;

/** Virtual repositories within virtual ones, counted from the outermost. */
export const depthMax = 5;

/**
 * Holds what a virtual repository shall be made of against its rules: members are of its type, and of its
 * owner or the instance; the one that takes uploads is a local one of its owner; nothing includes itself.
 *
 * @throws Refusal 422
 */
export async function mustBeMembers(db: Knex, members: Members): Promise<void> {
  const { included, deployment, owner, packageType, repositoryId } = members;
  const ids = [...included, ...(deployment ? [deployment] : [])];
  const found = await registryRepositoriesWithIds(db, ids);
  const isOwn = (row: RegistryRepositoryRow) => row.owner_id === owner.ownerId;
  const fits = (row: RegistryRepositoryRow | undefined): row is RegistryRepositoryRow =>
    row !== undefined &&
    row.package_type === packageType &&
    (isOwn(row) || row.owner_type === "INSTANCE");

  for (const [index, id] of included.entries()) {
    const field = `virtualSettings.includedRepositoryUuids.${index}`;
    if (included.indexOf(id) !== index) throw refused(field, "It is included twice.");
    if (!fits(found.get(id))) {
      throw refused(field, `There is no repository of type ${packageType} here with this id.`);
    }
  }
  const target = deployment ? found.get(deployment) : undefined;
  if (deployment && !(fits(target) && isOwn(target) && target.settings.type === "LOCAL")) {
    const message = `It is no local repository of type ${packageType} of the same owner.`;
    throw refused("virtualSettings.deploymentRepositoryUuid", message);
  }
  await mustNotReach(db, included, repositoryId);
}

async function mustNotReach(
  db: Knex,
  included: readonly RegistryRepositoryId[],
  self: RegistryRepositoryId,
): Promise<void> {
  const field = "virtualSettings.includedRepositoryUuids";
  let level = included;
  for (let depth = 1; level.length > 0; depth += 1) {
    if (level.includes(self)) throw refused(field, "The repository would include itself.");
    if (depth > depthMax) throw refused(field, `At most ${depthMax} levels include each other.`);
    const rows = [...(await registryRepositoriesWithIds(db, level)).values()];
    level = [
      ...new Set(
        rows.flatMap(({ settings }) =>
          settings.type === "VIRTUAL" ? settings.includedRepositoryIds : [],
        ),
      ),
    ];
  }
}

const refused = (field: string, message: string) =>
  invalid([{ field, code: "error.field.value", message }]);
