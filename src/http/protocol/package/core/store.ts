import type { Readable } from "node:stream";
import { stepOf } from "../../../../commands/core/step.ts";

import {
  type ExistingFile,
  type PackageVersionCommand,
  packageVersion,
} from "../../../../commands/package/version.ts";
import type { PackageCoordinates, PackageType } from "../../../../events/package/version.ts";
import { mustBeReadable } from "../../../../package/client-rule.ts";
import {
  badFile,
  coordinatesOf,
  mustBeShort,
  type PackageFileName,
  type PackageName,
  type PackageVersionName,
  packageFileIdOf,
} from "../../../../package/core/coordinates.ts";
import type { HeldBlob } from "../../../../platform/blob/blobs.ts";
import type { Room } from "../../../../platform/blob/room.ts";
import { invariant } from "../../../../platform/invariant.ts";
import { Limit } from "../../../../platform/limit.ts";
import { Refusal } from "../../../../platform/refusal.ts";
import { findProjectById } from "../../../../projections/project/project.ts";
import type { RegistryRepositoryRow } from "../../../../projections/registry/repository.ts";
import { stamped, type Unstamped } from "../../../core/command-deps.ts";
import type { Deps } from "../../../core/deps.ts";
import { headerClaims, mustMatchClaims, orRelease } from "../../../core/file/checksum.ts";
import { roomForFile, roomOf } from "../../../core/file/room.ts";
import type { RequestContext } from "../../../core/request.ts";
import { deploymentOf, mustAllowDeletion } from "./source.ts";
import { authenticatedStamp } from "./stamp.ts";
import type { NativeRequest } from "./type.ts";

/** Inspecting an archive can mean to unpack a gigabyte: few at a time. */
const inspections = new Limit({ name: "registry.inspections", total: 2, whenFull: "wait" });

/** Of the JSON that indexes are made from; it is part of an event, whose size is bounded. */
const metadataBytesMax = 256 * 1024;

/** What a file turned out to be. `metadata` is what the indexes of its type show of it. */
export type Inspected = PackageFileName & Readonly<{ metadata?: unknown }>;

type Owned = Pick<RegistryRepositoryRow, "owner_type" | "owner_id">;

export type Received = Readonly<{ inspected: Inspected; blob: HeldBlob }>;

export type Upload = Readonly<{
  target: RegistryRepositoryRow;
  /** Inspects the bytes as a file of this machine. @throws Refusal */
  inspect: (file: string, bytes: number) => Promise<Inspected>;
  /** A file without bytes means something; elsewhere it is a body that did not come. */
  mayBeEmpty?: boolean | undefined;
  /** It comes beside the file that the headers of the request are about. */
  isBeside?: boolean;
}>;

/** @throws Refusal 413 when the owner has no room left */
export async function uploadBytesMax(target: RegistryRepositoryRow, deps: Deps): Promise<number> {
  const { packageFileBytesMax } = deps.config;
  if (target.owner_type !== "PROJECT") return packageFileBytesMax;
  return roomForFile(await ownerOf(target, deps), packageFileBytesMax, deps);
}

/** Undefined for a company, which has no quota. */
async function ownerOf({ owner_type, owner_id }: Owned, { db }: Pick<Deps, "db">) {
  return owner_type === "PROJECT" ? await findProjectById(db, owner_id) : undefined;
}

/** Room for one file, of a request as a rule, in what the quota leaves to the owner. */
export async function uploadRoom(
  target: Owned,
  request: Pick<RequestContext, "header"> | undefined,
  deps: Deps,
): Promise<Room> {
  return roomOf(request, await ownerOf(target, deps), deps);
}

/** Stores the bytes and holds them. Nothing is left when they are refused. @throws Refusal */
export async function receive(
  content: Readable,
  { target, inspect, mayBeEmpty = false, isBeside = false }: Upload,
  request: Pick<RequestContext, "signal" | "header">,
  deps: Deps,
): Promise<Received> {
  const found: { inspected?: Inspected } = {};
  const blob = await deps.blobs.put(content, {
    bytesMax: await uploadBytesMax(target, deps),
    room: await uploadRoom(target, request, deps),
    signal: request.signal,
    async inspect(file, bytes) {
      if (bytes === 0 && !mayBeEmpty) {
        throw new Refusal("unprocessable", "package.file_empty", "The file is empty.");
      }
      found.inspected = await inspections.run(() => inspect(file, bytes));
    },
  });
  invariant(found.inspected !== undefined, "what is stored was inspected");
  const received = { inspected: found.inspected, blob };
  if (isBeside) return received;
  return await orRelease(received, async () =>
    mustMatchClaims(headerClaims(request), blob.digests),
  );
}

type Recording = Readonly<{
  target: RegistryRepositoryRow;
  type: PackageType;
  isImmutable?: boolean | undefined;
  /** A version of the type is one file, however its name is spelled. */
  isOnly?: boolean;
  /** What becomes of a file that exists, where that is not for the repository to say: no client names its path. */
  existing?: ExistingFile;
  uploadType?: "API" | "TRANSPORT";
  /** Runs before the event is appended; see NativeRequest. */
  mustStill: () => Promise<void>;
}>;

/**
 * Appends that a file was stored, waits until it is visible and gives the hold back.
 *
 * @throws Refusal 409 `package_file.exists`, see `existingIn`
 */
export async function record(
  { inspected, blob }: Received,
  recording: Recording,
  request: RequestContext,
  deps: Deps,
): Promise<PackageCoordinates> {
  const { target, type, isImmutable = false, uploadType = "TRANSPORT", mustStill } = recording;
  const { isOnly = false } = recording;
  try {
    mustBeShort(inspected);
    mustBeReadable(type, inspected);
    await mustStill();
    const coordinates = coordinatesOf(target.id, type, inspected);
    const { fileName, languageVersion, metadata } = inspected;
    const { packageVersionId: id } = coordinates;
    const existing = recording.existing ?? existingIn(target, isImmutable);
    const file = {
      fileId: packageFileIdOf(id, fileName),
      name: fileName,
      bytes: blob.bytes,
      ...blob.digests,
      uploadType,
      languageVersion,
      ...(metadata !== undefined && { metadata: metadataText(metadata) }),
    };
    await change(
      { id, command: { type: "StorePackageFile", coordinates, file, existing, isOnly } },
      request,
      deps,
    );
    await blob.release();
    return coordinates;
  } catch (error) {
    // What may have been appended stays held for as long as it takes to be visible.
    if (!(error instanceof Refusal) || error.kind !== "unavailable") await blob.release();
    throw error;
  }
}

/**
 * The rule of overwriting, for every type: what prohibits it refuses every path that exists, whatever the content.
 *
 * @param isImmutable a stored file keeps its content also where overwriting is allowed
 */
function existingIn({ settings }: RegistryRepositoryRow, isImmutable: boolean): ExistingFile {
  if (settings.type !== "LOCAL" || settings.packageReuploadType === "NONE") return "refuse";
  return isImmutable ? "keep" : "replace";
}

/** The same for several files of one request. Those behind one that is refused are not stored. */
export async function recordAll(
  received: readonly Received[],
  recording: Recording,
  request: RequestContext,
  deps: Deps,
): Promise<void> {
  // Each is a command of its own to its version.
  const metadataAt = async (index: number) => stepOf(await request.metadata(), "file", index);
  for (const [index, each] of received.entries()) {
    try {
      const own = { ...request, metadata: () => metadataAt(index) };
      await record(each, recording, own, deps);
    } catch (error) {
      for (const rest of received.slice(index + 1)) await rest.blob.release();
      throw error;
    }
  }
}

function metadataText(metadata: unknown): string {
  const text = JSON.stringify(metadata);
  if (Buffer.byteLength(text) <= metadataBytesMax) return text;
  throw badFile(`What it says of itself is over ${metadataBytesMax} bytes.`);
}

type NamedVersion = Readonly<{ packageName: PackageName; version: PackageVersionName }>;

/**
 * Deletes a version of the repository that takes what is stored.
 *
 * @param named runs once the repository is known to let packages be deleted
 * @throws Refusal 405
 */
export async function deleteVersion(
  { repository, request }: NativeRequest,
  type: PackageType,
  named: () => NamedVersion,
  deps: Deps,
): Promise<void> {
  const target = await deploymentOf(repository, deps);
  mustAllowDeletion(target);
  const { packageId, packageVersionId: id } = coordinatesOf(target.id, type, named());
  await change({ id, command: { type: "DeletePackageVersion", packageId } }, request, deps);
}

/** The same of one file: with its last file the version goes. @throws Refusal 404, 405 */
export async function deleteFile(
  { repository, request }: NativeRequest,
  type: PackageType,
  named: () => Omit<PackageFileName, "languageVersion">,
  deps: Deps,
): Promise<void> {
  const target = await deploymentOf(repository, deps);
  mustAllowDeletion(target);
  const of = named();
  const { packageId, packageVersionId: id } = coordinatesOf(target.id, type, of);
  const { fileName: name } = of;
  const command = { type: "DeletePackageFile", packageId, name } as const;
  await change({ id, command: { ...command, fileId: packageFileIdOf(id, name) } }, request, deps);
}

/** Runs a command on a version and waits until its result is visible. @throws Refusal */
export async function change(
  { id, command }: Readonly<{ id: string; command: Unstamped<PackageVersionCommand> }>,
  request: RequestContext,
  deps: Deps,
): Promise<void> {
  const whole = stamped<PackageVersionCommand>(command, authenticatedStamp(request, deps));
  await request.execute(packageVersion, id, whole);
}
