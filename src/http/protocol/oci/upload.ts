import { createHash } from "node:crypto";
import { Readable } from "node:stream";

import type { ContentDigest } from "../../../platform/container/digest.ts";
import type { Image, ImageBlob } from "../../../platform/container/link.ts";
import {
  addChunk,
  beginUpload,
  type Chunk,
  cancelUpload,
  chunksMax,
  chunksOf,
  findUpload,
  finishUpload,
  type Upload,
} from "../../../platform/container/upload.ts";
import type { RegistryRepositoryRow } from "../../../projections/registry/repository.ts";
import { type Answer, emptyAnswer } from "../../core/answer.ts";
import type { Deps } from "../../core/deps.ts";
import { uploadBytesMax, uploadRoom } from "../package/core/store.ts";
import { blobsOfImages, createdBlob, digestIn, mounted } from "./blob.ts";
import { type ContainerCall, type ContainerRequest, queryParam, targetOf } from "./call.ts";
import { containerRefusal } from "./error.ts";

const path = /^blobs\/uploads\/(?<upload>[0-9a-f-]{36})$/;

const begin: ContainerCall = {
  method: "POST",
  path: /^blobs\/uploads\/?$/,
  right: "write",
  operationId: "begin-container-upload",
  async handle(request, deps) {
    const { image } = await targetOf(request, deps);
    const mount = queryParam(request.ctx, "mount");
    if (mount !== undefined) {
      const wanted = { digest: mount, from: queryParam(request.ctx, "from") };
      const found = await mounted(request, wanted, image, deps);
      if (found !== undefined) return createdBlob(blobAt(request, found.digest), found.digest);
    }
    const whole = queryParam(request.ctx, "digest");
    // Refused before an upload begins.
    const digest = whole === undefined ? undefined : digestIn(whole);
    const upload = await beginUpload(deps.db, image, request.caller.userId ?? "");
    if (digest === undefined) return progress(request, 202, upload);
    return await finish(request, upload, digest, deps);
  },
};

const append: ContainerCall = {
  method: "PATCH",
  path,
  right: "write",
  operationId: "append-container-upload",
  async handle(request, deps) {
    const upload = await mustFind(request, deps);
    return progress(request, 202, await received(request, upload, deps));
  },
};

const complete: ContainerCall = {
  method: "PUT",
  path,
  right: "write",
  operationId: "finish-container-upload",
  async handle(request, deps) {
    const digest = digestIn(queryParam(request.ctx, "digest") ?? "");
    const { image } = await targetOf(request, deps);
    const upload = await findOwn(request, image, deps);
    if (upload !== undefined) return await finish(request, upload, digest, deps);
    // The answer to the first one may have been lost.
    const there = await blobsOfImages([image.packageId], [digest.text], deps);
    if (!there.has(digest.text)) throw uploadUnknown();
    return createdBlob(blobAt(request, digest.text), digest.text);
  },
};

const status: ContainerCall = {
  method: "GET",
  path,
  right: "write",
  operationId: "get-container-upload",
  handle: async (request, deps) => progress(request, 204, await mustFind(request, deps)),
};

const cancel: ContainerCall = {
  method: "DELETE",
  path,
  right: "write",
  operationId: "cancel-container-upload",
  async handle(request, deps) {
    await cancelUpload(deps.db, (await mustFind(request, deps)).id);
    return emptyAnswer(204);
  },
};

export const uploadCalls: readonly ContainerCall[] = [begin, append, complete, status, cancel];

function findOwn(
  { params, caller }: ContainerRequest,
  { packageId }: Image,
  { db }: Deps,
): Promise<Upload | undefined> {
  return findUpload(db, { id: params["upload"] ?? "", packageId, userId: caller.userId ?? "" });
}

/** @throws HttpRefusal 404 */
async function mustFind(request: ContainerRequest, deps: Deps): Promise<Upload> {
  const { image } = await targetOf(request, deps);
  const upload = await findOwn(request, image, deps);
  if (upload === undefined) throw uploadUnknown();
  return upload;
}

function uploadUnknown() {
  return containerRefusal(404, "BLOB_UPLOAD_UNKNOWN", "There is no such upload, or it has ended.");
}

const blobAt = ({ name }: ContainerRequest, digest: string): string =>
  `/v2/${name.full}/blobs/${digest}`;

const stateHeaders = ({ name }: ContainerRequest, { id, bytes }: Upload) => ({
  Location: `/v2/${name.full}/blobs/uploads/${id}`,
  Range: `0-${Math.max(0, bytes - 1)}`,
  "Docker-Upload-UUID": id,
});

function progress(request: ContainerRequest, code: 202 | 204, upload: Upload): Answer {
  const headers = { ...stateHeaders(request, upload), "Content-Length": "0" };
  return { status: code, headers, body: "" };
}

/**
 * Stores what the request carries behind what is there; it counts when all of it is durable.
 *
 * @throws HttpRefusal 416 unless it begins with the next byte, 400 when its length is not what its range says
 */
async function received(request: ContainerRequest, upload: Upload, deps: Deps): Promise<Upload> {
  const { target } = await targetOf(request, deps);
  const range = rangeIn(request, upload);
  if (upload.chunks >= chunksMax) {
    const message = `An upload has at most ${chunksMax} chunks. Send larger ones.`;
    throw containerRefusal(413, "SIZE_INVALID", message);
  }
  // Most clients send nothing more when they end an upload.
  if (range === undefined && request.request.header("content-length") === "0") return upload;
  const left = await uploadBytesMax(target, deps);
  const bytesMax = Math.max(0, Math.min(left, deps.config.packageFileBytesMax - upload.bytes));
  const { body } = request.request.incoming(bytesMax);
  const room = await uploadRoom(target, request.request, deps);
  const held = await deps.blobs.putPlain(body, { bytesMax, room, signal: request.request.signal });
  try {
    if (range !== undefined && range !== held.bytes) {
      const message = `${held.bytes} bytes came, not the ${range} of Content-Range.`;
      throw containerRefusal(400, "SIZE_INVALID", message);
    }
    if (held.bytes === 0) return upload;
    await request.mustStill();
    const chunk = { sha256: held.digest, bytes: held.bytes };
    const now = await addChunk(deps.db, upload, chunk);
    if (now === undefined) throw outOfOrder(request, upload, "Another request has added to it.");
    return now;
  } finally {
    await held.release();
  }
}

/** How many bytes the request says it carries; undefined when it does not say. */
function rangeIn(request: ContainerRequest, upload: Upload): number | undefined {
  const header = request.request.header("content-range");
  if (header === "") return undefined;
  const [, first = "", last = ""] =
    /^(?:bytes[ =])?(\d{1,15})-(\d{1,15})(?:\/.*)?$/.exec(header) ?? [];
  const length = Number(last) - Number(first) + 1;
  if (first !== "" && Number(first) === upload.bytes && length > 0) return length;
  throw outOfOrder(request, upload, `The next byte is number ${upload.bytes}.`);
}

const outOfOrder = (request: ContainerRequest, upload: Upload, message: string) =>
  containerRefusal(416, "BLOB_UPLOAD_INVALID", message, stateHeaders(request, upload));

async function finish(
  request: ContainerRequest,
  begun: Upload,
  digest: ContentDigest,
  deps: Deps,
): Promise<Answer> {
  const upload = await received(request, begun, deps);
  const { target } = await targetOf(request, deps);
  const { blob, release } = await joined(upload, digest, target, deps);
  try {
    await finishUpload(deps.db, upload, blob);
  } finally {
    await release();
  }
  return createdBlob(blobAt(request, digest.text), digest.text);
}

type Joined = Readonly<{ blob: ImageBlob; release: () => Promise<void> }>;

/** The whole of an upload as one blob. Of one chunk nothing is written again. */
async function joined(
  upload: Upload,
  digest: ContentDigest,
  target: RegistryRepositoryRow,
  deps: Deps,
): Promise<Joined> {
  const chunks = await chunksOf(deps.db, upload.id);
  const [only] = chunks;
  const wrong = async () => {
    await cancelUpload(deps.db, upload.id);
    return containerRefusal(400, "DIGEST_INVALID", `What came has not the digest ${digest.text}.`);
  };
  const of = { digest: digest.text, bytes: upload.bytes };
  if (only !== undefined && chunks.length === 1) {
    const found = digest.algorithm === "sha256" ? only.sha256 : await sha512Of(chunks, deps);
    if (found !== digest.hex) throw await wrong();
    // The chunk is referred to until the upload ends, in the step that refers to the blob.
    return { blob: { ...of, sha256: only.sha256 }, release: async () => undefined };
  }
  const bytesMax = await uploadBytesMax(target, deps).then((max) => Math.max(max, upload.bytes));
  const content = Readable.from(contentOf(chunks, deps), { objectMode: false });
  const held = await deps.blobs.putPlain(content, { bytesMax });
  const found = digest.algorithm === "sha256" ? held.digest : await sha512Of(chunks, deps);
  if (found === digest.hex) return { blob: { ...of, sha256: held.digest }, release: held.release };
  await held.release();
  throw await wrong();
}

async function* contentOf(chunks: readonly Chunk[], { blobs }: Deps): AsyncGenerator<Buffer> {
  for (const { sha256 } of chunks) yield* (await blobs.read(sha256)) as AsyncIterable<Buffer>;
}

async function sha512Of(chunks: readonly Chunk[], deps: Deps): Promise<string> {
  const hash = createHash("sha512");
  for await (const piece of contentOf(chunks, deps)) hash.update(piece);
  return hash.digest("hex");
}
