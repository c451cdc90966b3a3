import type {
  ObjectId,
  ProjectId,
  ReleaseFileId,
  ReleaseId,
  UserId,
} from "../../events/core/ids.ts";
import {
  type ReleaseDetails,
  type ReleaseEvent,
  type ReleaseFile,
  releaseEvents,
  releaseStream,
} from "../../events/release/release.ts";
import { unreachable } from "../../platform/invariant.ts";
import { Refusal } from "../../platform/refusal.ts";
import type { Slice } from "../core/decider.ts";
import { sameFields } from "../core/same-fields.ts";

/** More than any release has; a release is always shown with all of its files. */
export const releaseFilesMax = 500;

/** The project a caller found the release under; another one's does not exist for them. */
type Within = Readonly<{ projectId: ProjectId; by: UserId; at: string }>;

export type ReleaseCommand =
  | (Readonly<{ type: "CreateRelease"; releaseId: ReleaseId; commitId: ObjectId | null }> &
      ReleaseDetails &
      Within)
  | (Readonly<{ type: "EditRelease"; details: ReleaseDetails; commitId: ObjectId | null }> & Within)
  /** All of them or none. */
  | (Readonly<{ type: "AddReleaseFiles"; files: readonly ReleaseFile[] }> & Within)
  /** All of them or none; what was removed before counts as removed. */
  | (Readonly<{ type: "RemoveReleaseFiles"; fileIds: readonly ReleaseFileId[] }> & Within)
  | (Readonly<{ type: "DeleteRelease" }> & Within);

type Existing = Readonly<{
  status: "created";
  projectId: ProjectId;
  details: ReleaseDetails;
  /** Name by id. */
  files: ReadonlyMap<ReleaseFileId, string>;
  removed: ReadonlySet<ReleaseFileId>;
}>;

export type ReleaseState =
  | Readonly<{ status: "absent" }>
  | Readonly<{ status: "deleted"; projectId: ProjectId; tagName: string }>
  | Existing;

export const release: Slice<ReleaseState, ReleaseCommand, typeof releaseEvents> = {
  events: releaseEvents,
  stream: releaseStream,
  initialState: { status: "absent" },

  decide(state, command) {
    const { by, at } = command;
    switch (command.type) {
      case "CreateRelease": {
        if (state.status !== "absent") {
          throw new Refusal("conflict", "release.exists", "This release already exists.");
        }
        const { type: _, by: createdById, at: createdAt, ...rest } = command;
        return [{ type: "ReleaseCreated", data: { ...rest, createdById, createdAt } }];
      }
      case "EditRelease": {
        const { details: previousDetails } = mustExist(state, command);
        const { details, commitId } = command;
        if (sameFields(previousDetails, details)) return [];
        const data = { details, previousDetails, commitId, editedById: by, editedAt: at };
        return [{ type: "ReleaseEdited", data }];
      }
      case "AddReleaseFiles":
        return add(mustExist(state, command), command);
      case "RemoveReleaseFiles":
        return remove(mustExist(state, command), command);
      case "DeleteRelease": {
        // Deleting twice is not an error: the second click changes nothing.
        if (state.status === "deleted" && state.projectId === command.projectId) return [];
        const { tagName } = mustExist(state, command).details;
        return [{ type: "ReleaseDeleted", data: { tagName, deletedById: by, deletedAt: at } }];
      }
      default:
        return unreachable(command);
    }
  },

  evolve(state, event) {
    switch (event.type) {
      case "ReleaseCreated": {
        const { releaseId, commitId, createdById, createdAt, projectId, ...details } = event.data;
        return { status: "created", projectId, details, files: new Map(), removed: new Set() };
      }
      case "ReleaseEdited":
        return change(state, ({ files, removed }) => ({
          details: event.data.details,
          files,
          removed,
        }));
      case "ReleaseFileAdded":
        return change(state, ({ files, ...rest }) => ({
          ...rest,
          files: new Map(files).set(event.data.fileId, event.data.name),
        }));
      case "ReleaseFileRemoved":
        return change(state, ({ files, removed, details }) => ({
          details,
          files: new Map([...files].filter(([id]) => id !== event.data.fileId)),
          removed: new Set(removed).add(event.data.fileId),
        }));
      case "ReleaseDeleted":
        if (state.status !== "created") return state;
        return {
          status: "deleted",
          projectId: state.projectId,
          tagName: state.details.tagName,
        };
      default:
        return unreachable(event);
    }
  },
};

type Parts = Pick<Existing, "details" | "files" | "removed">;

function change(state: ReleaseState, to: (parts: Parts) => Parts): ReleaseState {
  return state.status === "created" ? { ...state, ...to(state) } : state;
}

type Command<Type extends ReleaseCommand["type"]> = Extract<ReleaseCommand, { type: Type }>;

function add(
  { files }: Existing,
  { files: added, by: addedById, at: addedAt }: Command<"AddReleaseFiles">,
): readonly ReleaseEvent[] {
  if (files.size + added.length > releaseFilesMax) {
    const message = `A release has at most ${releaseFilesMax} files.`;
    throw new Refusal("unprocessable", "release_file.too_many", message);
  }
  const taken = new Set(files.values());
  for (const { name } of added) {
    if (taken.has(name)) {
      const message = `The release would have two files named ${name}.`;
      const errors = [{ field: "files", code: "release_file.exists", message }];
      throw new Refusal("unprocessable", "release_file.exists", message, { errors });
    }
    taken.add(name);
  }
  return added.map((file) => ({
    type: "ReleaseFileAdded",
    data: { ...file, addedById, addedAt },
  }));
}

function remove(
  { files, removed }: Existing,
  { fileIds, by: removedById, at: removedAt }: Command<"RemoveReleaseFiles">,
): readonly ReleaseEvent[] {
  return [...new Set(fileIds)].flatMap((fileId) => {
    const name = files.get(fileId);
    if (name !== undefined) {
      return { type: "ReleaseFileRemoved", data: { fileId, name, removedById, removedAt } };
    }
    if (removed.has(fileId)) return [];
    throw new Refusal("not_found", "release_file.not_found", "The release has no such file.");
  });
}

function mustExist(state: ReleaseState, { projectId }: Within): Existing {
  if (state.status === "created" && state.projectId === projectId) return state;
  throw releaseNotFound();
}

export function releaseNotFound(): Refusal {
  return new Refusal("not_found", "release.not_found", "Release not found.");
}
