import { z } from "zod";

import { release } from "../../../commands/release/release.ts";
import { ReleaseFileId, type ReleaseId } from "../../../events/core/ids.ts";
import type { ReleaseFile } from "../../../events/release/release.ts";
import type { HeldBlob } from "../../../platform/blob/blobs.ts";
import { type Room, shareOf } from "../../../platform/blob/room.ts";
import { deterministicId } from "../../../platform/deterministic-id.ts";
import { Refusal } from "../../../platform/refusal.ts";
import { findReleaseFile, type ReleaseFileRow } from "../../../projections/release/release.ts";
import type { StreamReply } from "../../core/answer.ts";
import { projectStampOf } from "../../core/command-deps.ts";
import type { Deps } from "../../core/deps.ts";
import { type FormFile, receiveFiles } from "../../core/file/multipart.ts";
import { mustBeFileName } from "../../core/file/name.ts";
import { openPortion } from "../../core/file/referred-blob.ts";
import { roomForFile, roomOf } from "../../core/file/room.ts";
import type { RequestFor } from "../../core/request.ts";
import { type Route, route } from "../../core/route.ts";
import { findView, mustFindRelease, writing } from "./release.ts";
import { ReleaseView } from "./view.ts";

const path = "/project/{ownerAlias}/{projectAlias}/release/{releaseUuid}/file";
const key = "files";
const filesMax = 50;
/** Of a form around its files. */
const overheadBytes = 1024 ** 2;

const postReleaseFiles = route({
  ...writing,
  method: "post",
  path,
  operationId: "addReleaseFiles",
  forJobs: true,
  summary: "Add files to a release",
  description: "All of them are added, or none. They count for the quota of the project.",
  upload: key,
  reply: ReleaseView,
  async handle({ params: { releaseUuid }, request }, deps) {
    await mustFindRelease(deps, request, releaseUuid);
    const { releaseFileBytesMax: bytesMax } = deps.config;
    await roomForFile(request.project, bytesMax, deps);
    const whole = roomOf(request, request.project, deps);
    const total = { bytes: 0 };
    const stored = await receiveFiles(request.incoming(bytesMax * filesMax + overheadBytes), {
      key,
      filesMax,
      take: (file, index) => store(file, { index, room: shareOf(whole, total) }, request, deps),
    }).catch(async (error: unknown) => {
      await whole.release();
      throw error;
    });
    const letGo = async (): Promise<void> => {
      await Promise.all([whole.release(), ...stored.map(({ blob }) => blob.release())]);
    };
    try {
      await addFiles(releaseUuid, stored, request, deps);
    } catch (error) {
      // Of what may have been appended the files stay held, for as long as it takes to be seen.
      if (error instanceof Refusal && error.kind !== "unavailable") await letGo();
      throw error;
    }
    await letGo();
    return findView(releaseUuid, request, deps);
  },
});

const downloadReleaseFile = route({
  method: "get",
  path: `${path}/{fileUuid}`,
  operationId: "downloadReleaseFile",
  summary: "Download a file of a release",
  description: "Answers parts of it to a request with Range.",
  tag: writing.tag,
  scope: "PROJECT_READ",
  access: "project:READER",
  forJobs: true,
  anonymousWhen: "downloadReleaseFromAnonUserIsEnabled",
  params: z.object({ fileUuid: ReleaseFileId }),
  reply: "stream",
  async handle({ params, request }, deps): Promise<StreamReply> {
    const { releaseUuid: releaseId, fileUuid: fileId } = params;
    const { id: projectId } = request.project;
    const find = async (): Promise<ReleaseFileRow> => {
      const row = await findReleaseFile(deps.db, { projectId, releaseId, fileId });
      if (row === undefined) throw fileNotFound();
      return row;
    };
    const { row, reply } = await openPortion(find, request, deps);
    request.immutable(row.sha256);
    return { ...reply, type: "application/octet-stream", fileName: row.name };
  },
});

const deleteReleaseFiles = route({
  ...writing,
  method: "delete",
  path,
  operationId: "deleteReleaseFiles",
  summary: "Delete files of a release",
  description: "All of those named, or none.",
  body: z.array(ReleaseFileId).min(1).max(1_000).meta({ id: "ReleaseFileIds" }),
  reply: ReleaseView,
  async handle({ params: { releaseUuid }, body: fileIds, request }, deps) {
    await mustFindRelease(deps, request, releaseUuid);
    const command = {
      type: "RemoveReleaseFiles",
      fileIds,
      ...projectStampOf(request, deps),
    } as const;
    await request.execute(release, releaseUuid, command);
    return findView(releaseUuid, request, deps);
  },
});

export const releaseFileRoutes: readonly Route[] = [
  deleteReleaseFiles,
  downloadReleaseFile,
  postReleaseFiles,
];

type Writing = RequestFor<"project:DEVELOPER">;
type Stored = Readonly<{ file: ReleaseFile; blob: HeldBlob }>;

async function store(
  { fileName, content }: FormFile,
  { index, room }: Readonly<{ index: number; room: Room }>,
  { commandId, signal }: Writing,
  { blobs, config }: Deps,
): Promise<Stored> {
  mustBeFileName(fileName, key, "release_file.name");
  const { releaseFileBytesMax: bytesMax } = config;
  const blob = await blobs.put(content, { bytesMax, signal, room });
  const fileId = ReleaseFileId.parse(deterministicId(commandId, "release file", index));
  const { bytes, digests } = blob;
  return { blob, file: { fileId, name: fileName, bytes, ...digests } };
}

async function addFiles(
  id: ReleaseId,
  stored: readonly Stored[],
  request: Writing,
  deps: Deps,
): Promise<void> {
  const files = stored.map(({ file }) => file);
  const command = { type: "AddReleaseFiles", files, ...projectStampOf(request, deps) } as const;
  await request.execute(release, id, command);
}

function fileNotFound(): Refusal {
  return new Refusal("not_found", "release_file.not_found", "The release has no such file.");
}
