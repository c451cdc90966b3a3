import { z } from "zod";

import { fileNotFound, uploadedFile } from "../../../commands/project/uploaded-file.ts";
import { UploadedFileId } from "../../../events/project/uploaded-file.ts";
import type { HeldBlob } from "../../../platform/blob/blobs.ts";
import { noLimit, type Room } from "../../../platform/blob/room.ts";
import { deterministicId } from "../../../platform/deterministic-id.ts";
import { Refusal } from "../../../platform/refusal.ts";
import {
  findUploadedFile,
  listUploadedFiles,
  type UploadedFileRow,
  uploadedFileProjection,
} from "../../../projections/project/uploaded-file.ts";
import { roomOfUser } from "../../../projections/project/user-quota.ts";
import { isMember } from "../../../projections/team/member-role.ts";
import { findUserById } from "../../../projections/user/user.ts";
import { atLeast } from "../../access/access.ts";
import { mustSuffice } from "../../access/role-access.ts";
import type { StreamReply } from "../../core/answer.ts";
import { stampOf } from "../../core/command-deps.ts";
import type { Deps } from "../../core/deps.ts";
import { type FormFile, receiveFiles } from "../../core/file/multipart.ts";
import { mustBeFileName } from "../../core/file/name.ts";
import { openPortion } from "../../core/file/referred-blob.ts";
import { lengthOf, roomForFile, roomOf } from "../../core/file/room.ts";
import { oneInProject } from "../../core/one-below.ts";
import { listed } from "../../core/paging.ts";
import type { RequestFor } from "../../core/request.ts";
import { type Route, route } from "../../core/route.ts";
import { instant } from "../../core/schema.ts";

const tag = "Issues";
const path = "/project/{ownerAlias}/{projectAlias}/file";
const key = "file";
const fileBytesMax = 50 * 1024 ** 2;
/** Of a form around its file. */
const overheadBytes = 64 * 1024;

const UploadedFileView = z
  .object({
    uploadFileUuid: z.uuid(),
    filePath: z.string(),
    webFilePath: z.string().meta({ description: "Path of the download, for links in texts." }),
    fileName: z.string(),
    fileSize: z.string().meta({ description: "In bytes." }),
    uploadDate: instant(),
  })
  .meta({ id: "UploadedFile" });

const ListedFileView = UploadedFileView.extend({
  uploadedById: z.uuid(),
  countsFor: z.enum(["PROJECT", "UPLOADER"]).meta({ description: "Whose quota it counts for." }),
}).meta({ id: "ListedUploadedFile" });

const writing = { tag, scope: "PROJECT_WRITE", access: "project:GUEST" } as const;

const postFile = route({
  ...writing,
  method: "post",
  path,
  operationId: "uploadFile",
  summary: "Upload a file for a description or comment",
  description:
    "At most 50 MiB. It counts for the quota of the project; what is uploaded by who is no member of it, for the quota of that user. A text links to it by `webFilePath`.",
  upload: key,
  reply: UploadedFileView,
  async handle({ request }, deps) {
    const isByOutsider = !(await isMember(deps.db, request.project, request.userId));
    const counted = { request, isByOutsider };
    const bytesMax = isByOutsider
      ? fileBytesMax
      : await roomForFile(request.project, fileBytesMax, deps);
    const [stored] = await receiveFiles(request.incoming(fileBytesMax + overheadBytes), {
      key,
      filesMax: 1,
      take: (file) => store(file, bytesMax, counted, deps),
    });
    try {
      const id = await record(stored, counted, deps);
      await stored.blob.release();
      return viewOf(await mustFindFile(deps, request, id), request);
    } catch (error) {
      // What may have been appended stays held until it can be seen.
      if (error instanceof Refusal && error.kind !== "unavailable") await stored.blob.release();
      throw error;
    }
  },
});

const reading = { tag, scope: "PROJECT_READ", access: "project:GUEST", method: "get" } as const;

const downloadFile = route({
  ...reading,
  path: `${path}/{fileUuid}/{fileName}`,
  operationId: "downloadUploadedFile",
  summary: "Download an uploaded file",
  description: "For those who may read the project. Answers parts of it to a request with Range.",
  params: z.object({ fileUuid: UploadedFileId, fileName: z.string() }),
  reply: "stream",
  async handle({ params: { fileUuid, fileName }, request }, deps): Promise<StreamReply> {
    const find = async (): Promise<UploadedFileRow> => {
      const row = await mustFindFile(deps, request, fileUuid);
      if (row.name !== fileName) throw fileNotFound();
      return row;
    };
    const { row, reply } = await openPortion(find, request, deps);
    request.immutable(row.sha256);
    // Never shown in the browser: it may hold scripts.
    return { ...reply, type: "application/octet-stream", fileName };
  },
});

const listFiles = route({
  ...reading,
  path,
  operationId: "listUploadedFiles",
  summary: "List the uploaded files",
  description: "Newest first: all of them for ADMINs, for others those that they have uploaded.",
  list: "uploadFileList",
  asOf: { readModels: [uploadedFileProjection] },
  reply: ListedFileView,
  async handle({ page, request }, deps) {
    const { project, userId } = request;
    const by = atLeast(request.role, "ADMIN") ? undefined : userId;
    return listed(listUploadedFiles(deps.db, project.id, by, page), (row) => ({
      ...viewOf(row, request),
      uploadedById: row.uploaded_by_id,
      countsFor: row.is_by_outsider ? ("UPLOADER" as const) : ("PROJECT" as const),
    }));
  },
});

const deleteFile = route({
  ...writing,
  method: "delete",
  path: `${path}/{fileUuid}`,
  operationId: "deleteUploadedFile",
  summary: "Delete an uploaded file",
  description: "For who uploaded it and for ADMINs. Texts that link to it stay as they are.",
  params: z.object({ fileUuid: UploadedFileId }),
  reply: "empty",
  async handle({ params: { fileUuid }, request }, deps) {
    const row = await mustFindFile(deps, request, fileUuid);
    if (row.uploaded_by_id !== request.userId) {
      mustSuffice(request.role, { resource: "project", role: "ADMIN" });
    }
    const command = { type: "DeleteUpload", ...stampOf(request, deps) } as const;
    await request.execute(uploadedFile, fileUuid, command);
  },
});

export const uploadedFileRoutes: readonly Route[] = [deleteFile, downloadFile, listFiles, postFile];

type Writing = RequestFor<"project:GUEST">;
/** Whose quota it is. */
type Counted = Readonly<{ request: Writing; isByOutsider: boolean }>;
type Stored = Readonly<{ name: string; blob: HeldBlob }>;

async function store(
  { fileName: name, content }: FormFile,
  bytesMax: number,
  { request, isByOutsider }: Counted,
  deps: Deps,
): Promise<Stored> {
  mustBeFileName(name, key, "file.name");
  const room = isByOutsider
    ? await roomOfUploader(request, deps)
    : roomOf(request, request.project, deps);
  const options = { bytesMax, signal: request.signal, room };
  return { name, blob: await deps.blobs.put(content, options) };
}

async function roomOfUploader(request: Writing, deps: Deps): Promise<Room> {
  const user = await findUserById(deps.db, request.userId);
  return user === undefined ? noLimit : roomOfUser(user, lengthOf(request), deps);
}

async function record(
  { name, blob: { bytes, digests } }: Stored,
  { request, isByOutsider }: Counted,
  { now }: Deps,
): Promise<UploadedFileId> {
  const uploadedFileId = UploadedFileId.parse(deterministicId(request.commandId, "file"));
  const { project, userId: uploadedById } = request;
  const file = {
    uploadedFileId,
    projectId: project.id,
    name,
    bytes,
    ...digests,
    uploadedById,
    ...(isByOutsider && { isByOutsider }),
  };
  const command = { type: "RecordUpload", file, at: now().toISOString() } as const;
  await request.execute(uploadedFile, uploadedFileId, command);
  return uploadedFileId;
}

const mustFindFile = oneInProject(findUploadedFile, fileNotFound);

function viewOf(
  { id, name, bytes, created_at }: UploadedFileRow,
  { project }: Pick<Writing, "project">,
): z.input<typeof UploadedFileView> {
  const base = `/project/${project.owner_alias}/${project.alias}/file`;
  return {
    uploadFileUuid: id,
    filePath: `${project.id}/${id}/${name}`,
    webFilePath: `${base}/${id}/${encodeURIComponent(name)}`,
    fileName: name,
    fileSize: String(bytes),
    uploadDate: created_at,
  };
}
