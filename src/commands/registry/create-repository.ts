import type { EventMetadata } from "../../events/core/event.ts";
import { registryRepositoryNameStream } from "../../events/core/reservation.ts";
import { type RegistryOwner, registryRepositoryStream } from "../../events/registry/repository.ts";
import type { EventStore } from "../../platform/event-store/event-store.ts";
import { type CommandResult, currentState, handle } from "../core/handle.ts";
import { releaseName, reserveName } from "../core/reserve-name.ts";
import { type RegistryRepositoryCommand, registryRepository } from "./repository.ts";

type Deps = Readonly<{ store: EventStore; now: () => string }>;
type Create = Extract<RegistryRepositoryCommand, { type: "CreateRegistryRepository" }>;
type Delete = Extract<RegistryRepositoryCommand, { type: "DeleteRegistryRepository" }>;

const nameStreamOf = ({ ownerId }: RegistryOwner, name: string): string =>
  registryRepositoryNameStream(ownerId, name);

/**
 * Reserves the name under its owner, then creates the repository. May be repeated with the same ids.
 *
 * @throws Refusal `unprocessable` with `registry_repository.name_taken`
 */
export async function createRegistryRepository(
  deps: Deps,
  command: Create,
  metadata: EventMetadata,
): Promise<CommandResult> {
  const { repositoryId: id, owner, name } = command;
  const toReserve = {
    name: nameStreamOf(owner, name),
    holderId: id,
    holderStreams: (holderId: string) => [registryRepositoryStream(holderId)],
    // A deletion that died half-way leaves the name with a repository that is gone.
    stillHolds: async (holderId: string) =>
      (await currentState(deps.store, registryRepository, holderId)).status === "created",
    taken: {
      field: "repositoryName",
      code: "registry_repository.name_taken",
      message: "The owner already has a repository of this name.",
    },
  };
  await reserveName(deps, toReserve, metadata);
  return handle(deps.store, registryRepository, { id, command, metadata });
}

/** Deletes the repository, then frees its name. May be repeated. */
export async function deleteRegistryRepository(
  deps: Deps,
  { id, name, command }: Readonly<{ id: string; name: string; command: Delete }>,
  metadata: EventMetadata,
): Promise<CommandResult> {
  const result = await handle(deps.store, registryRepository, { id, command, metadata });
  await releaseName(deps, nameStreamOf(command.owner, name), id, metadata);
  return result;
}
