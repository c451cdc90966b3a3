import type { PackageFileId, PackageId, UserId } from "../../events/core/ids.ts";
import {
  type PackageCoordinates,
  type PackageFile,
  type PackageVersionEvent,
  packageVersionEvents,
  packageVersionStream,
} from "../../events/package/version.ts";
import { unreachable } from "../../platform/invariant.ts";
import { Refusal } from "../../platform/refusal.ts";
import type { Slice } from "../core/decider.ts";

/** A version is always shown with all of its files. */
export const packageFilesMax = 500;

/** What becomes of a file whose path is stored again: other content takes its place, or only equal content is taken, or none. */
export type ExistingFile = "replace" | "keep" | "refuse";

type By = Readonly<{ by: UserId; at: string }>;
type Change<Type extends string> = Readonly<{ type: Type; packageId: PackageId }> & By;

export type PackageVersionCommand =
  /** The version comes into being with its first file. */
  | (Readonly<{
      type: "StorePackageFile";
      coordinates: PackageCoordinates;
      file: PackageFile;
      /** `replace` when left out. */
      existing?: ExistingFile;
      /** A version of its type is one file, however its name is spelled. */
      isOnly?: boolean;
    }> &
      By)
  | (Change<"YankPackageVersion"> & Readonly<{ reason: string }>)
  | Change<"UnyankPackageVersion">
  /** An empty message takes the deprecation back. */
  | (Change<"DeprecatePackageVersion"> & Readonly<{ message: string }>)
  /** With its last file the version goes. */
  | (Change<"DeletePackageFile"> & Readonly<{ fileId: PackageFileId; name: string }>)
  | Change<"DeletePackageVersion">
  | Change<"RestorePackageVersion">
  /** Changes nothing unless the version was deleted before that time. */
  | Readonly<{
      type: "PurgePackageVersion";
      packageId: PackageId;
      deletedBefore: string;
      at: string;
    }>;

export type PackageVersionState =
  | Readonly<{ status: "absent" }>
  | Readonly<{
      status: "created" | "deleted";
      /** Null: it is not deleted. */
      deletedAt: string | null;
      /** SHA-256 by file. */
      files: ReadonlyMap<PackageFileId, string>;
      /** Deleted by themselves: where nothing may be overwritten, their paths stay taken. */
      goneFiles: ReadonlySet<PackageFileId>;
      isYanked: boolean;
      /** Empty: it is not deprecated. */
      deprecation: string;
    }>;

const empty = {
  deletedAt: null,
  files: new Map(),
  goneFiles: new Set<PackageFileId>(),
  isYanked: false,
  deprecation: "",
} as const;

export const packageVersion: Slice<
  PackageVersionState,
  PackageVersionCommand,
  typeof packageVersionEvents
> = {
  events: packageVersionEvents,
  stream: packageVersionStream,
  initialState: { status: "absent" },

  decide(state, command) {
    if (command.type === "StorePackageFile") return store(state, command);
    if (command.type === "PurgePackageVersion") return purge(state, command);
    const { packageId, by, at } = command;
    if (state.status === "absent") throw versionNotFound();
    const isDeleted = state.status === "deleted";
    if (isDeleted && !/^(?:Delete|Restore)PackageVersion$/.test(command.type)) {
      throw versionNotFound();
    }
    switch (command.type) {
      case "YankPackageVersion": {
        if (state.isYanked) return [];
        const { reason } = command;
        const data = { packageId, reason, yankedById: by, yankedAt: at };
        return [{ type: "PackageVersionYanked", data }];
      }
      case "UnyankPackageVersion":
        if (!state.isYanked) return [];
        return [
          { type: "PackageVersionUnyanked", data: { packageId, unyankedById: by, unyankedAt: at } },
        ];
      case "DeprecatePackageVersion": {
        const { message } = command;
        if (state.deprecation === message) return [];
        const data = { packageId, message, deprecatedById: by, deprecatedAt: at };
        return [{ type: "PackageVersionDeprecated", data }];
      }
      case "DeletePackageFile": {
        const { fileId, name } = command;
        if (!state.files.has(fileId)) throw fileNotFound(name);
        const data = { packageId, deletedById: by, deletedAt: at };
        if (state.files.size === 1) return [{ type: "PackageVersionDeleted", data }];
        return [{ type: "PackageFileDeleted", data: { ...data, fileId, name } }];
      }
      case "DeletePackageVersion":
        if (isDeleted) return [];
        return [
          { type: "PackageVersionDeleted", data: { packageId, deletedById: by, deletedAt: at } },
        ];
      case "RestorePackageVersion":
        if (!isDeleted) return [];
        return [
          { type: "PackageVersionRestored", data: { packageId, restoredById: by, restoredAt: at } },
        ];
      default:
        return unreachable(command);
    }
  },

  evolve(state, event) {
    if (event.type === "PackageVersionCreated") return { status: "created", ...empty };
    if (state.status === "absent") return state;
    switch (event.type) {
      case "PackageFileStored":
      case "PackageFileReplaced":
        return { ...state, files: new Map(state.files).set(event.data.fileId, event.data.sha256) };
      case "PackageFileDeleted": {
        const { fileId } = event.data;
        const files = new Map([...state.files].filter(([id]) => id !== fileId));
        return { ...state, files, goneFiles: new Set(state.goneFiles).add(fileId) };
      }
      case "PackageVersionYanked":
        return { ...state, isYanked: true };
      case "PackageVersionUnyanked":
        return { ...state, isYanked: false };
      case "PackageVersionDeprecated":
        return { ...state, deprecation: event.data.message };
      case "PackageVersionDeleted":
        return { ...state, status: "deleted", deletedAt: event.data.deletedAt };
      case "PackageVersionRestored":
        return { ...state, status: "created", deletedAt: null };
      case "PackageVersionPurged":
        return { status: "absent" };
      default:
        return unreachable(event);
    }
  },
};

function store(
  state: PackageVersionState,
  {
    coordinates,
    file,
    existing = "replace",
    isOnly = false,
    by,
    at,
  }: Extract<PackageVersionCommand, { type: "StorePackageFile" }>,
): readonly PackageVersionEvent[] {
  const { packageId } = coordinates;
  const stored = {
    type: "PackageFileStored",
    data: { ...file, packageId, storedById: by, storedAt: at },
  } as const;
  if (state.status === "deleted" && existing !== "replace") throw inTrash();
  if (state.status !== "created") {
    const data = { ...coordinates, createdById: by, createdAt: at };
    return [{ type: "PackageVersionCreated", data }, stored];
  }
  const previousSha256 = state.files.get(file.fileId);
  if (previousSha256 !== undefined) {
    if (existing === "refuse") throw fileExists(file.name);
    // The same content again changes nothing: an upload whose answer got lost can be repeated.
    if (previousSha256 === file.sha256) return [];
    if (existing === "keep") throw fileDiffers(file.name);
    const data = { ...file, packageId, previousSha256, replacedById: by, replacedAt: at };
    return [{ type: "PackageFileReplaced", data }];
  }
  const isTaken = existing !== "replace" && state.goneFiles.has(file.fileId);
  if (isTaken || (isOnly && state.files.size > 0)) throw fileExists(file.name);
  if (state.files.size >= packageFilesMax) throw tooManyFiles();
  return [stored];
}

function purge(
  state: PackageVersionState,
  { packageId, deletedBefore, at }: Extract<PackageVersionCommand, { type: "PurgePackageVersion" }>,
): readonly PackageVersionEvent[] {
  if (state.status !== "deleted" || (state.deletedAt ?? "") >= deletedBefore) return [];
  return [{ type: "PackageVersionPurged", data: { packageId, purgedAt: at } }];
}

function versionNotFound(): Refusal {
  return new Refusal("not_found", "package_version.not_found", "There is no such version.");
}

function fileNotFound(name: string): Refusal {
  return new Refusal("not_found", "package_file.not_found", `There is no file ${name}.`);
}

function fileExists(name: string): Refusal {
  const message = `The file ${name} already exists, and files are not overwritten here.`;
  return new Refusal("conflict", "package_file.exists", message);
}

function fileDiffers(name: string): Refusal {
  const message = `The file ${name} already exists with other content, and keeps it for ever.`;
  return new Refusal("conflict", "package_file.exists", message);
}

function inTrash(): Refusal {
  const message = "This version was deleted. Restore it from the trash or use another version.";
  return new Refusal("conflict", "package_version.deleted", message);
}

export function tooManyFiles(): Refusal {
  const message = `A version has at most ${packageFilesMax} files.`;
  return new Refusal("unprocessable", "package.too_many_files", message);
}
