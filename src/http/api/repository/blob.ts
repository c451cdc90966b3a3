import { pipeline, type Readable } from "node:stream";
import { z } from "zod";
import { branchPrefix } from "../../../events/repository/repository.ts";

import {
  type LfsPointer,
  lfsPointer,
  pointerBytesMax,
  pointerBytesMin,
} from "../../../git/lfs-pointer.ts";
import { repositoryPath } from "../../../git/name.ts";
import type { Commit, TreeEntry } from "../../../git/object/object.ts";
import type { FileEntry, Repository } from "../../../git/repository.ts";
import { invariant } from "../../../platform/invariant.ts";
import { Refusal } from "../../../platform/refusal.ts";
import { sliceStream } from "../../../platform/slice-stream.ts";
import { lockersOf } from "../../../projections/git/lfs-lock.ts";
import { findLfsObject, type LfsObjectRow } from "../../../projections/git/lfs-object.ts";
import { findRef } from "../../../projections/repository/git-ref.ts";
import type { StreamReply } from "../../core/answer.ts";
import type { Deps } from "../../core/deps.ts";
import { type ByteRange, requestedPortion } from "../../core/file/byte-range.ts";
import { mustAllowDownload } from "../../core/file/download.ts";
import { contentTypeOf, extensionOf, isBinary, isImage, textTypeOf } from "../../core/file/type.ts";
import type { RequestContext } from "../../core/request.ts";
import { type Route, route } from "../../core/route.ts";
import { bool, int, nameLengthMax, pathLengthMax } from "../../core/schema.ts";
import { mustFindCommit, refsAsOf, revisionText } from "./revision.ts";

const tag = "Files";
const FileQuery = z.object({
  commitHash: z.string().min(1).max(nameLengthMax).meta({ description: revisionText }),
  file: z.string().min(1).max(pathLengthMax).meta({ description: "Full path with the name." }),
});

/** Larger ones are streamed from a process of their own instead of being held in memory. */
const inMemoryBytesMax = 1024 ** 2;
/** Files in one listing; more would be an answer of tens of megabytes. */
const listedFilesMax = 100_000;

const reading = {
  method: "get",
  tag,
  scope: "PROJECT_READ",
  access: "project:GUEST",
  asOf: refsAsOf,
} as const;

const getBlob = route({
  ...reading,
  path: "/project/{ownerAlias}/{projectAlias}/blob",
  operationId: "getBlob",
  summary: "Get a text file of a commit",
  description: "Binary files, images and files over the limit are for the download.",
  query: FileQuery,
  reply: "stream",
  errors: [400],
  async handle({ query, request }, deps) {
    const found = await mustFindCommit(deps, request.project, query.commitHash);
    const { repository, commit, lasting } = found;
    const entry = await entryAt(repository, commit, query.file);
    if (entry?.kind === "directory") throw refused("is_directory", "This is a directory.");
    const { id, bytes } = await mustBeFile(repository, entry);
    if (bytes > deps.config.blobBytesMax) {
      const message = `The file is over ${deps.config.blobBytesMax} bytes: download it.`;
      throw refused("too_large", message);
    }
    const content = await repository.objects.blob(id);
    invariant(content !== undefined, "an object of known size can be read");
    if (isImage(query.file, content)) throw refused("image", "This is an image: download it.");
    if (isBinary(content)) throw refused("binary", "This is a binary file: download it.");
    if (lasting) request.immutable(id);
    return { body: content, type: textTypeOf(content), bytes };
  },
});

const downloadBlob = route({
  ...reading,
  path: "/project/{ownerAlias}/{projectAlias}/blob/download",
  operationId: "downloadBlob",
  summary: "Download a file of a commit",
  description: "Answers parts of it to a request with Range.",
  query: FileQuery.extend({
    lfs: bool().default(true).meta({
      description: "Of a file kept by LFS, the content and not the pointer, if the project has it.",
    }),
  }),
  reply: "stream",
  async handle({ query, request }, deps): Promise<StreamReply> {
    await mustAllowDownload(deps);
    const found = await mustFindCommit(deps, request.project, query.commitHash);
    const { repository, commit, lasting } = found;
    const entry = await entryAt(repository, commit, query.file);
    const { id, bytes } = await mustBeFile(repository, entry);
    const fileName = query.file.split("/").at(-1) ?? "file";
    const type = contentTypeOf(fileName);
    const pointer =
      query.lfs && entry ? await pointerIn(repository, { ...entry, id, bytes }) : undefined;
    const object = pointer && (await findLfsObject(deps.db, request.project.id, pointer.oid));
    const named = { fileName, type, lasting };
    if (object !== undefined) return downloadObject(request, object, named, deps);
    // Who brings the object later changes what is answered here.
    if (pointer === undefined && lasting) request.immutable(id);

    const { part, ...portion } = requestedPortion(request, { tag: id, bytes });
    const body = await contentOf(repository, { id, total: bytes, ...portion });
    const { bytes: length } = portion;
    const file = { body, type, bytes: length, fileName, etag: id };
    return { ...file, acceptRanges: true, ...(part && { part }) };
  },
});

const BlobEntryView = z
  .object({
    filePath: z.string(),
    extension: z.string().meta({ description: "With its dot; `.null` when there is none." }),
    size: z.int(),
    lfsOid: z.string().nullable(),
    lockedBy: z.string().nullable(),
  })
  .meta({ id: "BlobEntry" });

const listBlobs = route({
  ...reading,
  path: "/project/{ownerAlias}/{projectAlias}/blob/recursive",
  operationId: "listBlobs",
  summary: "List the files below a directory of a commit",
  query: z.object({
    commitHash: z.string().min(1).max(nameLengthMax).meta({ description: revisionText }),
    directory: z
      .string()
      .max(pathLengthMax)
      .default("")
      .meta({ description: "The root when not given." }),
    depth: int({ min: 0 }).default(0).meta({ description: "0: the directory itself." }),
  }),
  reply: z.array(BlobEntryView),
  async handle({ query, request }, deps) {
    const { recursionDepthMax } = deps.config;
    if (query.depth > recursionDepthMax) {
      const message = `The depth is over ${recursionDepthMax}.`;
      const errors = [{ field: "depth", code: "error.field.too_large", message }];
      throw new Refusal("unprocessable", "request.invalid", message, { errors });
    }
    const { repository, commit } = await mustFindCommit(deps, request.project, query.commitHash);
    const parts = repositoryPath(query.directory);
    const directory = await repository.objects.entry(commit.id, parts);
    if (directory?.kind !== "directory") {
      throw new Refusal("not_found", "directory.not_found", "There is no such directory.");
    }
    const prefix = parts.join("/");
    const files = await repository.files(directory, prefix, query.depth, listedFilesMax);
    if (files.length > listedFilesMax) {
      const message = `There are more than ${listedFilesMax} files: list fewer levels at a time.`;
      throw new Refusal("unprocessable", "directory.too_large", message);
    }
    const paths = files.map(({ path }) => path);
    const lockers = await lockersOf(deps.db, request.project.id, paths);
    return Promise.all(files.map((file) => fileView(repository, file, lockers)));
  },
});

const getFileSize = route({
  ...reading,
  path: "/project/{projectUuid}/file-size",
  operationId: "getFileSize",
  summary: "Get the size of a file of a branch",
  query: z.object({
    filepath: z.string().min(1).max(pathLengthMax),
    branchName: z.string().min(1).max(nameLengthMax),
  }),
  reply: z.string(),
  async handle({ query, request }, deps) {
    const branch = await findRef(deps.db, request.project.id, "branch", query.branchName);
    if (branch === undefined) {
      throw new Refusal("not_found", "branch.not_found", "There is no such branch.");
    }
    const name = branchPrefix + query.branchName;
    const { repository, commit } = await mustFindCommit(deps, request.project, name);
    const entry = await entryAt(repository, commit, query.filepath);
    const { id, bytes } = await mustBeFile(repository, entry);
    const pointer = entry && (await pointerIn(repository, { ...entry, id, bytes }));
    return `${pointer?.bytes ?? bytes} bytes`;
  },
});

/** Sends the object that a pointer names: one of this project, never what only others have by that id. */
async function downloadObject(
  request: RequestContext,
  { oid: tag, bytes }: LfsObjectRow,
  { lasting, ...named }: Readonly<{ fileName: string; type: string; lasting: boolean }>,
  { blobs }: Pick<Deps, "blobs">,
): Promise<StreamReply> {
  const { part, ...portion } = requestedPortion(request, { tag, bytes: Number(bytes) });
  const body = await blobs.read(tag, part);
  if (lasting) request.immutable(tag);
  const file = { ...named, body, bytes: portion.bytes, etag: tag };
  return { ...file, acceptRanges: true, ...(part && { part }) };
}

function entryAt(
  repository: Repository,
  commit: Commit,
  path: string,
): Promise<TreeEntry | undefined> {
  return repository.objects.entry(commit.id, repositoryPath(path));
}

/** A symbolic link counts as the text it holds: it is never followed. */
async function mustBeFile(repository: Repository, entry: TreeEntry | undefined) {
  const info = entry && (await repository.objects.info(entry.id));
  if (info?.type === "blob") return info;
  throw new Refusal("not_found", "blob.not_found", "There is no such file.");
}

type Part = ByteRange & Readonly<{ id: string; total: number }>;

async function contentOf(
  repository: Repository,
  { id, total, first, last }: Part,
): Promise<Buffer | Readable> {
  if (total <= inMemoryBytesMax) {
    const content = await repository.objects.blob(id);
    invariant(content !== undefined, "an object of known size can be read");
    return content.subarray(first, last + 1);
  }
  const slice = sliceStream(first, last);
  // An error of either ends both, and with them the process; the answer then breaks off.
  pipeline(repository.blobStream(id), slice, () => undefined);
  return slice;
}

/** Files of LFS are as large as the objects that their pointers name. */
async function fileView(
  repository: Repository,
  { path, entry, bytes }: FileEntry,
  lockers: ReadonlyMap<string, string>,
): Promise<z.input<typeof BlobEntryView>> {
  const pointer = await pointerIn(repository, { ...entry, bytes });
  return {
    filePath: path,
    extension: extensionOf(entry.name),
    size: pointer?.bytes ?? bytes,
    lfsOid: pointer?.oid ?? null,
    lockedBy: lockers.get(path) ?? null,
  };
}

/** A symbolic link is none, whatever it points to. */
async function pointerIn(
  repository: Repository,
  { id, kind, bytes }: Pick<TreeEntry, "id" | "kind"> & Readonly<{ bytes: number }>,
): Promise<LfsPointer | undefined> {
  const may = kind === "file" && bytes >= pointerBytesMin && bytes < pointerBytesMax;
  const content = may ? await repository.objects.blob(id) : undefined;
  return content && lfsPointer(content);
}

function refused(code: string, message: string): Refusal {
  return new Refusal("bad_request", `blob.${code}`, message);
}

export const blobRoutes: readonly Route[] = [downloadBlob, getBlob, getFileSize, listBlobs];
