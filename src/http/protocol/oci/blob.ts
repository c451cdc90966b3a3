import { type ContentDigest, readDigest } from "../../../platform/container/digest.ts";
import {
  type Image,
  type ImageBlob,
  linkBlobs,
  linkedBlobs,
  linkedInRegistry,
  unlinkBlob,
} from "../../../platform/container/link.ts";
import { namedBlobs } from "../../../projections/container/manifest.ts";
import { type Answer, emptyAnswer, streamAnswer } from "../../core/answer.ts";
import type { Deps } from "../../core/deps.ts";
import { requestedPortion } from "../../core/file/byte-range.ts";
import { openReferred } from "../../core/file/referred-blob.ts";
import { uploadRoom } from "../package/core/store.ts";
import {
  type ContainerCall,
  type ContainerRequest,
  imageIdOf,
  imagesOf,
  targetOf,
} from "./call.ts";
import { containerRefusal } from "./error.ts";
import { readImageName } from "./name.ts";

const path = /^blobs\/(?<digest>[^/]+)$/;

/** @throws HttpRefusal 400 `DIGEST_INVALID` */
export function digestIn(text: string): ContentDigest {
  const digest = readDigest(text);
  if (digest !== undefined) return digest;
  const message = "A digest is sha256 or sha512, a colon and lower case hex.";
  throw containerRefusal(400, "DIGEST_INVALID", message);
}

/** Which of these contents the images have: by a manifest that names them, or by a push. */
export async function blobsOfImages(
  packageIds: readonly string[],
  digests: readonly string[],
  { db }: Pick<Deps, "db">,
): Promise<ReadonlyMap<string, ImageBlob>> {
  const [linked, named] = await Promise.all([
    linkedBlobs(db, packageIds, digests),
    namedBlobs(db, { packageIds }, digests),
  ]);
  return new Map([...named, ...linked].map((blob) => [blob.digest, blob]));
}

async function mustFind(request: ContainerRequest, deps: Deps): Promise<ImageBlob> {
  const { text } = digestIn(request.params["digest"] ?? "");
  const blob = (await blobsOfImages(await imagesOf(request, deps), [text], deps)).get(text);
  if (blob === undefined)
    throw containerRefusal(404, "BLOB_UNKNOWN", "The image has no such blob.");
  return blob;
}

const read: ContainerCall = {
  method: "GET",
  path,
  right: "read",
  operationId: "get-container-blob",
  async handle(request, deps) {
    const { ctx } = request;
    const find = () => mustFind(request, deps);
    const open = async (blob: ImageBlob) => {
      const { digest: text, sha256, bytes } = blob;
      const portion = requestedPortion(request.request, { tag: text, bytes });
      const isHead = ctx.method === "HEAD";
      const body = isHead ? "" : await deps.blobs.read(sha256, portion.part);
      return { blob, portion, body };
    };
    const { blob, portion, body } = await openReferred(find, open, ({ sha256 }) => sha256);
    if (ctx.method === "HEAD") await keep(request, blob, deps);
    return streamAnswer(200, {
      body,
      type: "application/octet-stream",
      bytes: portion.bytes,
      etag: blob.digest,
      acceptRanges: true,
      ...(portion.part && { part: portion.part }),
      headers: { "Docker-Content-Digest": blob.digest },
    });
  },
};

/** A client that learns that a blob exists does not push it, and names it in a manifest that comes later. */
async function keep(request: ContainerRequest, blob: ImageBlob, deps: Deps): Promise<void> {
  const { caller, repository } = request;
  if (caller.userId === null || repository.settings.type !== "LOCAL") return;
  await linkStored((await targetOf(request, deps)).image, blob, deps);
}

/** @returns false when the content is gone by now */
async function linkStored(image: Image, blob: ImageBlob, deps: Deps): Promise<boolean> {
  const held = await deps.blobs.hold(blob.sha256);
  if (held === undefined) return false;
  try {
    await linkBlobs(deps.db, image, [blob]);
  } finally {
    await held.release();
  }
  return true;
}

const remove: ContainerCall = {
  method: "DELETE",
  path,
  right: "write",
  operationId: "delete-container-blob",
  async handle(request, deps) {
    const { text } = digestIn(request.params["digest"] ?? "");
    const { target, packageId } = await targetOf(request, deps);
    mustAllowRemoval(target.settings);
    await request.mustStill();
    const [named] = await namedBlobs(deps.db, { packageIds: [packageId] }, [text]);
    if (named !== undefined) {
      const message = "A manifest of the image names this blob. Delete the manifest first.";
      throw containerRefusal(405, "UNSUPPORTED", message);
    }
    if (!(await unlinkBlob(deps.db, packageId, text))) {
      throw containerRefusal(404, "BLOB_UNKNOWN", "The image has no such blob.");
    }
    return emptyAnswer(202);
  },
};

/** @throws HttpRefusal 405 unless the repository lets packages be deleted */
export function mustAllowRemoval(
  settings: Readonly<{ type: string; isDeletePackageAllowed?: boolean }>,
): void {
  if (settings.isDeletePackageAllowed === true) return;
  throw containerRefusal(405, "UNSUPPORTED", "Nothing of this repository may be deleted.");
}

/**
 * Gives the image a content that another image has, when the caller may read it there. Without the name of one,
 * the images of the same repository are looked through.
 *
 * @param from as the query has it
 * @throws Refusal 413 `project.full`
 * @returns the content, or undefined when it has to be pushed
 */
export async function mounted(
  request: ContainerRequest,
  { digest: text, from }: Readonly<{ digest: string; from: string | undefined }>,
  image: Image,
  deps: Deps,
): Promise<ImageBlob | undefined> {
  const { text: digest } = digestIn(text);
  const found =
    from === undefined
      ? await inRegistry(image.registryId, digest, deps)
      : await inImage(request, from, digest, deps);
  if (found === undefined) return undefined;
  const { target } = await targetOf(request, deps);
  // Content of the same repository counts once.
  const isThere = from === undefined || (await inRegistry(image.registryId, digest, deps));
  const room = isThere ? undefined : await uploadRoom(target, undefined, deps);
  try {
    await room?.reach(found.bytes);
    return (await linkStored(image, found, deps)) ? found : undefined;
  } finally {
    await room?.release();
  }
}

async function inRegistry(
  registryId: string,
  digest: string,
  { db }: Deps,
): Promise<ImageBlob | undefined> {
  const linked = await linkedInRegistry(db, registryId, digest);
  return linked ?? (await namedBlobs(db, { registryId }, [digest]))[0];
}

async function inImage(
  request: ContainerRequest,
  from: string,
  digest: string,
  deps: Deps,
): Promise<ImageBlob | undefined> {
  const name = imageNamed(from);
  const repository = name && (await request.readable(name));
  if (name === undefined || repository === undefined) return undefined;
  const sources = await imagesOf({ repository, name }, deps);
  const own = imageIdOf(repository.id, name.image);
  return (await blobsOfImages([...new Set([own, ...sources])], [digest], deps)).get(digest);
}

function imageNamed(text: string) {
  try {
    return readImageName(text);
  } catch {
    return undefined;
  }
}

export const blobCalls: readonly ContainerCall[] = [read, remove];

export const createdBlob = (location: string, digest: string): Answer => ({
  status: 201,
  headers: { Location: location, "Docker-Content-Digest": digest },
  body: "",
});
