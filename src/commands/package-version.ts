import type { PackageFileId, UserId } from "../events/ids.ts";
import {
  type PackageCoordinates,
  type PackageFile,
  type PackageVersionEvent,
  packageVersionEvents,
  packageVersionStream,
} from "../events/package-version.ts";
import { unreachable } from "../platform/invariant.ts";
import { Refusal } from "../platform/refusal.ts";
import type { Decider, Slice } from "./decider.ts";

/** A version is always shown with all of its files. */
export const packageFilesMax = 500;

/** The version comes into being with its first file. */
export type PackageVersionCommand = Readonly<{
  type: "StorePackageFile";
  coordinates: PackageCoordinates;
  file: PackageFile;
  by: UserId;
  at: string;
}>;

export type PackageVersionState =
  | Readonly<{ status: "absent" }>
  /** SHA-256 by file. */
  | Readonly<{ status: "created"; files: ReadonlyMap<PackageFileId, string> }>;

const decider: Decider<PackageVersionState, PackageVersionCommand, PackageVersionEvent> = {
  initialState: { status: "absent" },

  decide(state, { coordinates, file, by, at }) {
    const { packageId } = coordinates;
    const stored = {
      type: "PackageFileStored",
      data: { ...file, packageId, storedById: by, storedAt: at },
    } as const;
    if (state.status === "absent") {
      const data = { ...coordinates, createdById: by, createdAt: at };
      return [{ type: "PackageVersionCreated", data }, stored];
    }
    const previousSha256 = state.files.get(file.fileId);
    // The same content again changes nothing: an upload whose answer got lost can be repeated.
    if (previousSha256 === file.sha256) return [];
    if (previousSha256 !== undefined) {
      const data = { ...file, packageId, previousSha256, replacedById: by, replacedAt: at };
      return [{ type: "PackageFileReplaced", data }];
    }
    if (state.files.size >= packageFilesMax) throw tooMany();
    return [stored];
  },

  evolve(state, event) {
    switch (event.type) {
      case "PackageVersionCreated":
        return { status: "created", files: new Map() };
      case "PackageFileStored":
      case "PackageFileReplaced":
        if (state.status !== "created") return state;
        return { ...state, files: new Map(state.files).set(event.data.fileId, event.data.sha256) };
      default:
        return unreachable(event);
    }
  },
};

function tooMany(): Refusal {
  const message = `A version has at most ${packageFilesMax} files.`;
  return new Refusal("unprocessable", "package.too_many_files", message);
}

export const packageVersion: Slice<
  PackageVersionState,
  PackageVersionCommand,
  typeof packageVersionEvents
> = {
  events: packageVersionEvents,
  stream: packageVersionStream,
  decider,
};
