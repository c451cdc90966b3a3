import type { Alias, ProjectId, UserId } from "../../events/core/ids.ts";
import {
  type OwnerType,
  type ProjectDetails,
  type ProjectEvent,
  projectEvents,
  projectStream,
} from "../../events/project/project.ts";
import { unreachable } from "../../platform/invariant.ts";
import { Refusal } from "../../platform/refusal.ts";
import type { Slice } from "../core/decider.ts";

type Stamp = Readonly<{ by: UserId; at: string }>;

export type ProjectCommand =
  | (Stamp &
      Readonly<{
        type: "CreateProject";
        projectId: ProjectId;
        ownerId: string;
        ownerType: OwnerType;
        alias: Alias;
        title: string;
        description: string | null;
        language: string | null;
        private: boolean;
        defaultBranch: string;
        forkedFromId?: ProjectId;
      }>)
  | Readonly<{ type: "ChangeDefaultBranch"; branch: string; at: string }>
  | (Stamp & Readonly<{ type: "ChangeProjectDetails"; details: Partial<ProjectDetails> }>)
  | (Stamp & Readonly<{ type: "ChangeProjectVisibility"; private: boolean }>)
  /** `ownerId` is under whom the new alias was reserved. */
  | (Stamp & Readonly<{ type: "ChangeProjectAlias"; alias: Alias; ownerId: string }>)
  /**
   * `alias` is what was reserved under the new owner; with `fromOwnerId`, it must still belong to that
   * one.
   */
  | (Stamp &
      Readonly<{
        type: "TransferProject";
        ownerId: string;
        ownerType: OwnerType;
        alias: Alias;
        fromOwnerId?: string;
      }>)
  | (Stamp & Readonly<{ type: "DeleteProject" }>)
  | (Stamp & Readonly<{ type: "RestoreProject" }>)
  /** Deleted before `deletedBefore` it must have been, and not restored since. */
  | Readonly<{ type: "PurgeProject"; projectId: ProjectId; deletedBefore: string; at: string }>
  | (Stamp & Readonly<{ type: "ChangeProjectQuota"; allowedBytes: number | null }>);

export type ExistingProject = Readonly<{
  status: "created" | "deleted";
  /** Of the last deletion. */
  deletedAt: string | null;
  allowedBytes: number | null;
  ownerId: string;
  ownerType: OwnerType;
  alias: Alias;
  details: ProjectDetails;
  private: boolean;
  defaultBranch: string;
  forkedFromId: ProjectId | undefined;
}>;
export type ProjectState = Readonly<{ status: "absent" | "purged" }> | ExistingProject;

export const project: Slice<ProjectState, ProjectCommand, typeof projectEvents> = {
  events: projectEvents,
  stream: projectStream,
  initialState: { status: "absent" },

  decide(state, command) {
    switch (command.type) {
      case "CreateProject": {
        if (state.status !== "absent") {
          throw new Refusal("conflict", "project.exists", "This project already exists.");
        }
        const { type: _, by: createdById, at: createdAt, ...rest } = command;
        return [{ type: "ProjectCreated", data: { ...rest, createdById, createdAt } }];
      }
      case "ChangeDefaultBranch": {
        // A push that is under way while the project is deleted may still set it.
        const { defaultBranch: previousBranch } = mustHaveBeen(state);
        const { branch, at: changedAt } = command;
        if (branch === previousBranch) return [];
        const data = { branch, previousBranch, changedAt };
        return [{ type: "ProjectDefaultBranchChanged", data }];
      }
      case "ChangeProjectDetails":
        return changeDetails(mustBeThere(state), command);
      case "ChangeProjectVisibility": {
        const previous = mustBeThere(state).private;
        const { by: changedById, at: changedAt } = command;
        if (command.private === previous) return [];
        const data = { private: command.private, previous, changedById, changedAt };
        return [{ type: "ProjectVisibilityChanged", data }];
      }
      case "ChangeProjectAlias":
        return changeAlias(mustBeThere(state), command);
      case "TransferProject":
        return transfer(mustBeThere(state), command);
      case "DeleteProject": {
        if (state.status === "deleted") return [];
        mustBeThere(state);
        const data = { deletedById: command.by, deletedAt: command.at };
        return [{ type: "ProjectDeleted", data }];
      }
      case "RestoreProject": {
        if (mustHaveBeen(state).status === "created") return [];
        const data = { restoredById: command.by, restoredAt: command.at };
        return [{ type: "ProjectRestored", data }];
      }
      case "PurgeProject": {
        if (state.status !== "deleted" || !isBefore(state.deletedAt, command.deletedBefore))
          return [];
        const { projectId, at: purgedAt } = command;
        return [{ type: "ProjectPurged", data: { projectId, purgedAt } }];
      }
      case "ChangeProjectQuota": {
        const { allowedBytes: previous } = mustBeThere(state);
        const { allowedBytes, by: changedById, at: changedAt } = command;
        if (allowedBytes === previous) return [];
        const data = { allowedBytes, previous, changedById, changedAt };
        return [{ type: "ProjectQuotaChanged", data }];
      }
      default:
        return unreachable(command);
    }
  },

  evolve(state, event) {
    if (event.type === "ProjectCreated") {
      const { ownerId, ownerType, alias, defaultBranch, title, description, language } = event.data;
      const details = { title, description, language, topics: [], siteUrl: null };
      const owner = { ownerId, ownerType };
      return {
        status: "created",
        deletedAt: null,
        allowedBytes: null,
        ...owner,
        alias,
        details,
        private: event.data.private,
        defaultBranch,
        forkedFromId: event.data.forkedFromId,
      };
    }
    if (event.type === "ProjectPurged") return { status: "purged" };
    return isExisting(state) ? { ...state, ...change(event) } : state;
  },
};

function change(
  event: Exclude<ProjectEvent, { type: "ProjectCreated" | "ProjectPurged" }>,
): Partial<ExistingProject> {
  switch (event.type) {
    case "ProjectDefaultBranchChanged":
      return { defaultBranch: event.data.branch };
    case "ProjectDetailsChanged":
      return { details: event.data.details };
    case "ProjectVisibilityChanged":
      return { private: event.data.private };
    case "ProjectAliasChanged":
      return { alias: event.data.alias };
    case "ProjectTransferred":
      return { ownerId: event.data.ownerId, ownerType: event.data.ownerType };
    case "ProjectDeleted":
      return { status: "deleted", deletedAt: event.data.deletedAt };
    case "ProjectRestored":
      return { status: "created", deletedAt: null };
    case "ProjectQuotaChanged":
      return { allowedBytes: event.data.allowedBytes };
    default:
      return unreachable(event);
  }
}

type Order<Type extends ProjectCommand["type"]> = Extract<ProjectCommand, { type: Type }>;

function changeDetails(
  { details: previous }: ExistingProject,
  command: Order<"ChangeProjectDetails">,
): readonly ProjectEvent[] {
  const details = { ...previous, ...command.details };
  const { by: changedById, at: changedAt } = command;
  // Both are plain values in one order of keys, so equal texts are equal values.
  if (JSON.stringify(details) === JSON.stringify(previous)) return [];
  return [{ type: "ProjectDetailsChanged", data: { details, previous, changedById, changedAt } }];
}

function changeAlias(
  { alias: previousAlias, ownerId }: ExistingProject,
  command: Order<"ChangeProjectAlias">,
): readonly ProjectEvent[] {
  const { alias, by: changedById, at: changedAt } = command;
  if (alias === previousAlias) return [];
  if (ownerId !== command.ownerId) throw changedMeanwhile();
  return [{ type: "ProjectAliasChanged", data: { alias, previousAlias, changedById, changedAt } }];
}

function transfer(
  { ownerId: previousOwnerId, ownerType: previousOwnerType, alias }: ExistingProject,
  command: Order<"TransferProject">,
): readonly ProjectEvent[] {
  const { ownerId, ownerType, by: transferredById, at: transferredAt } = command;
  if (ownerId === previousOwnerId) return [];
  if (alias !== command.alias) throw changedMeanwhile();
  if ((command.fromOwnerId ?? previousOwnerId) !== previousOwnerId) throw changedMeanwhile();
  const previous = { previousOwnerId, previousOwnerType };
  const data = { ownerId, ownerType, ...previous, transferredById, transferredAt };
  return [{ type: "ProjectTransferred", data }];
}

function mustBeThere(state: ProjectState): ExistingProject {
  if (state.status === "created") return state;
  throw notFound();
}

/** Deleted or not. */
function mustHaveBeen(state: ProjectState): ExistingProject {
  if (isExisting(state)) return state;
  throw notFound();
}

export const isExisting = (state: ProjectState): state is ExistingProject =>
  state.status === "created" || state.status === "deleted";

const isBefore = (time: string | null, limit: string): boolean =>
  time !== null && Date.parse(time) < Date.parse(limit);

const notFound = (): Refusal => new Refusal("not_found", "project.not_found", "Project not found.");

const changedMeanwhile = (): Refusal =>
  new Refusal("conflict", "project.changed", "Another request changed the project just now.");
