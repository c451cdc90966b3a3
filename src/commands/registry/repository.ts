import type { RegistryRepositoryId, UserId } from "../../events/core/ids.ts";
import type { PackageType } from "../../events/package/version.ts";
import {
  type LocalSettings,
  type ProxySettings,
  type RegistryOwner,
  type RegistryRepositoryEvent,
  type RepositorySettings,
  registryRepositoryEvents,
  registryRepositoryStream,
  type VirtualSettings,
} from "../../events/registry/repository.ts";
import { unreachable } from "../../platform/invariant.ts";
import { Refusal } from "../../platform/refusal.ts";
import type { Slice } from "../core/decider.ts";

type By = Readonly<{ by: UserId; at: string }>;

/** The owner a caller found the repository under; another owner's does not exist for them. */
type Within = Readonly<{ owner: RegistryOwner }>;

type Changed<Settings> = Pick<Settings, Extract<"type", keyof Settings>> & Partial<Settings>;
/** What is left out stays as it is. */
export type ChangedSettings =
  | Changed<LocalSettings>
  | Changed<ProxySettings>
  | Changed<VirtualSettings>;

export type RegistryRepositoryCommand =
  | (Readonly<{
      type: "CreateRegistryRepository";
      repositoryId: RegistryRepositoryId;
      name: string;
      packageType: PackageType;
      description: string | null;
      settings: RepositorySettings;
    }> &
      Within &
      By)
  | (Readonly<{
      type: "ReconfigureRegistryRepository";
      description?: string | null;
      settings: ChangedSettings;
    }> &
      Within &
      By)
  | (Readonly<{
      type: "DeleteRegistryRepository";
      /** Whether a virtual repository includes it. */
      isIncluded: boolean;
    }> &
      Within &
      By);

type Existing = Readonly<{
  status: "created";
  owner: RegistryOwner;
  name: string;
  description: string | null;
  settings: RepositorySettings;
}>;

export type RegistryRepositoryState = Readonly<{ status: "absent" | "deleted" }> | Existing;

export const registryRepository: Slice<
  RegistryRepositoryState,
  RegistryRepositoryCommand,
  typeof registryRepositoryEvents
> = {
  events: registryRepositoryEvents,
  stream: registryRepositoryStream,
  initialState: { status: "absent" },

  decide(state, command) {
    switch (command.type) {
      case "CreateRegistryRepository":
        return create(state, command);
      case "ReconfigureRegistryRepository":
        return reconfigure(mustExist(state, command), command);
      case "DeleteRegistryRepository": {
        // Deleting twice is not an error: the second request changes nothing.
        if (state.status === "deleted") return [];
        mustExist(state, command);
        if (command.isIncluded) throw included();
        const { by: deletedById, at: deletedAt } = command;
        return [{ type: "RegistryRepositoryDeleted", data: { deletedById, deletedAt } }];
      }
      default:
        return unreachable(command);
    }
  },

  evolve(state, event) {
    switch (event.type) {
      case "RegistryRepositoryCreated": {
        const { ownerType, ownerId, name, description, settings } = event.data;
        return {
          status: "created",
          owner: { ownerType, ownerId },
          name,
          description,
          settings,
        };
      }
      case "RegistryRepositoryReconfigured": {
        const { description, settings } = event.data;
        return state.status === "created" ? { ...state, description, settings } : state;
      }
      case "RegistryRepositoryDeleted":
        return { status: "deleted" };
      default:
        return unreachable(event);
    }
  },
};

function create(
  state: RegistryRepositoryState,
  command: Extract<RegistryRepositoryCommand, { type: "CreateRegistryRepository" }>,
): readonly RegistryRepositoryEvent[] {
  if (state.status !== "absent") {
    const message = "This repository already exists.";
    throw new Refusal("conflict", "registry_repository.exists", message);
  }
  const { type: _, owner, by: createdById, at: createdAt, ...rest } = command;
  const data = { ...owner, ...rest, createdById, createdAt };
  return [{ type: "RegistryRepositoryCreated", data }];
}

function reconfigure(
  state: Existing,
  {
    description = state.description,
    settings: changed,
    by,
    at,
  }: Extract<RegistryRepositoryCommand, { type: "ReconfigureRegistryRepository" }>,
): readonly RegistryRepositoryEvent[] {
  const { type } = state.settings;
  if (changed.type !== type) {
    const message = `This repository is of the type ${type}, which cannot be changed.`;
    throw new Refusal("unprocessable", "registry_repository.type_fixed", message);
  }
  // All are of one kind, so the result is of that kind.
  const settings = {
    ...state.settings,
    ...withoutCredentials(state.settings, changed),
    ...changed,
  } as RepositorySettings;
  const previous = { description: state.description, settings: state.settings };
  const data = { description, settings, previous, reconfiguredById: by, reconfiguredAt: at };
  return [{ type: "RegistryRepositoryReconfigured", data }];
}

/** What a proxy logs in with was meant for one server: another one never gets to see it. */
function withoutCredentials(
  before: RepositorySettings,
  changed: ChangedSettings,
): Partial<ProxySettings> {
  if (before.type !== "PROXY" || changed.type !== "PROXY" || changed.url === undefined) return {};
  return sameOrigin(before.url, changed.url) ? {} : { username: null, token: null };
}

function sameOrigin(one: string, other: string): boolean {
  if (!URL.canParse(one) || !URL.canParse(other)) return one === other;
  return new URL(one).origin === new URL(other).origin;
}

function mustExist(state: RegistryRepositoryState, { owner }: Within): Existing {
  if (state.status === "created") {
    const { ownerType, ownerId } = state.owner;
    if (ownerType === owner.ownerType && ownerId === owner.ownerId) return state;
  }
  throw registryRepositoryNotFound();
}

export function registryRepositoryNotFound(): Refusal {
  const message = "There is no such repository of packages.";
  return new Refusal("not_found", "registry_repository.not_found", message);
}

function included(): Refusal {
  const message = "A virtual repository includes this one. Remove it from there first.";
  return new Refusal("conflict", "registry_repository.included", message);
}
