import { Readable } from "node:stream";

import type { PackageId } from "../../../events/core/ids.ts";
import { digestOf, readDigest } from "../../../platform/container/digest.ts";
import { type ImageBlob, linkBlobs } from "../../../platform/container/link.ts";
import {
  manifestBytesMax,
  type NamedContent,
  type ReadManifest,
} from "../../../platform/container/manifest.ts";
import { readAnyManifest } from "../../../platform/container/manifest-reader.ts";
import {
  digestOfTag,
  type ManifestMetadata,
  type ManifestRow,
  manifestsWithDigests,
} from "../../../projections/container/manifest.ts";
import type { RegistryRepositoryRow } from "../../../projections/registry/repository.ts";
import { countDownload } from "../../api/package/download-count.ts";
import { type Answer, emptyAnswer, streamAnswer } from "../../core/answer.ts";
import type { Deps } from "../../core/deps.ts";
import { openReferred } from "../../core/file/referred-blob.ts";
import { change, receive, record } from "../package/core/store.ts";
import { blobsOfImages, digestIn, mustAllowRemoval } from "./blob.ts";
import {
  type ContainerCall,
  type ContainerRequest,
  imagePackageName,
  imagesOf,
  manifestIdOf,
  targetOf,
} from "./call.ts";
import { containerRefusal } from "./error.ts";
import { mustBeTag, removeTag, setTag } from "./tag.ts";

const path = /^manifests\/(?<reference>[^/]+)$/;
/** The name of a manifest among the files of its version. */
const fileName = "manifest.json";
const tagParamsMax = 10;

/** Manifests of the image with these digests which are not deleted. */
async function manifestsOf(
  packageIds: readonly PackageId[],
  digests: readonly string[],
  { db }: Pick<Deps, "db">,
): Promise<readonly ManifestRow[]> {
  const ids = packageIds.flatMap((id) => digests.map((digest) => manifestIdOf(id, digest)));
  return await manifestsWithDigests(db, ids);
}

/** @throws HttpRefusal 404 `MANIFEST_UNKNOWN` */
async function mustFind(request: ContainerRequest, deps: Deps): Promise<ManifestRow> {
  const reference = request.params["reference"] ?? "";
  const images = await imagesOf(request, deps);
  for (const image of images) {
    const digest = reference.includes(":")
      ? digestIn(reference).text
      : await digestOfTag(deps.db, image, reference);
    const [row] = digest === undefined ? [] : await manifestsOf([image], [digest], deps);
    if (row !== undefined) return row;
  }
  throw manifestUnknown();
}

function manifestUnknown() {
  return containerRefusal(404, "MANIFEST_UNKNOWN", "The image has no such manifest.");
}

const read: ContainerCall = {
  method: "GET",
  path,
  right: "read",
  operationId: "get-container-manifest",
  async handle(request, deps) {
    const isHead = request.ctx.method === "HEAD";
    const find = () => mustFind(request, deps);
    const open = async (row: ManifestRow) => ({
      row,
      stream: isHead ? undefined : await deps.blobs.read(row.sha256),
    });
    const { row, stream } = await openReferred(find, open, ({ sha256 }) => sha256);
    const bytes = Number(row.bytes);
    const counted = { packageVersionId: row.version_id, bytes, endsIt: true };
    return streamAnswer(200, {
      body: stream === undefined ? "" : countDownload(stream, counted, deps),
      type: row.media_type,
      bytes,
      etag: row.digest,
      headers: { "Docker-Content-Digest": row.digest },
    });
  },
};

const store: ContainerCall = {
  method: "PUT",
  path,
  right: "write",
  operationId: "put-container-manifest",
  async handle(request, deps) {
    const { params, ctx, name } = request;
    const reference = params["reference"] ?? "";
    const expected = reference.includes(":") ? digestIn(reference) : undefined;
    const tags = expected === undefined ? [reference] : tagParams(ctx.query["tag"]);
    for (const tag of tags) mustBeTag(tag);
    const bytes = await wholeManifest(request);
    const digest = digestOf(bytes, expected?.algorithm ?? "sha256");
    if (expected !== undefined && expected.text !== digest) {
      throw containerRefusal(400, "DIGEST_INVALID", `The manifest has the digest ${digest}.`);
    }
    const manifest = await readAnyManifest(bytes, request.request.header("content-type"));
    const { target, packageId, image } = await targetOf(request, deps);
    const blobs = await mustHave(packageId, manifest, deps);
    // Their uploads may end before the manifest can be seen.
    await linkBlobs(deps.db, image, blobs);
    await keepManifest(request, { target, digest, bytes, manifest, blobs }, deps);
    for (const tag of tags) await setTag(request, { packageId, tag, digest, target }, deps);
    return stored(name.full, digest, manifest.subject, expected === undefined ? [] : tags);
  },
};

function stored(
  full: string,
  digest: string,
  subject: string | null,
  tags: readonly string[],
): Answer {
  const headers = {
    Location: `/v2/${full}/manifests/${digest}`,
    "Docker-Content-Digest": digest,
    ...(subject !== null && { "OCI-Subject": subject }),
    ...(tags.length > 0 && { "OCI-Tag": tags.join(", ") }),
  };
  return { status: 201, headers, body: "" };
}

function tagParams(query: string | readonly string[] | undefined): readonly string[] {
  const tags = [...new Set([query ?? []].flat())];
  if (tags.length <= tagParamsMax) return tags;
  const message = `A manifest is pushed with at most ${tagParamsMax} tags.`;
  throw containerRefusal(400, "MANIFEST_INVALID", message);
}

async function wholeManifest({ request }: ContainerRequest): Promise<Buffer> {
  const chunks: Buffer[] = [];
  const { body } = request.incoming(manifestBytesMax);
  for await (const chunk of body) chunks.push(chunk as Buffer);
  return Buffer.concat(chunks);
}

/** @throws HttpRefusal 404 for what the image does not have, 400 for another size */
async function mustHave(
  packageId: PackageId,
  { blobs, manifests }: ReadManifest,
  deps: Deps,
): Promise<readonly ImageBlob[]> {
  const digestsOf = (named: readonly NamedContent[]) => named.map(({ digest }) => digest);
  const there = await blobsOfImages([packageId], digestsOf(blobs), deps);
  const rows = await manifestsOf([packageId], digestsOf(manifests), deps);
  const sizes = new Map(rows.map((row) => [row.digest, Number(row.bytes)]));
  for (const blob of there.values()) sizes.set(blob.digest, blob.bytes);
  for (const { digest, bytes } of [...blobs, ...manifests]) {
    const found = sizes.get(digest);
    if (found === undefined) {
      const message = `The image does not have ${digest}, which the manifest names.`;
      throw containerRefusal(404, "MANIFEST_BLOB_UNKNOWN", message);
    }
    if (found === bytes) continue;
    const message = `${digest} has ${found} bytes, not the ${bytes} that the manifest says.`;
    throw containerRefusal(400, "MANIFEST_INVALID", message);
  }
  return [...there.values()];
}

type StoredManifest = Readonly<{
  target: RegistryRepositoryRow;
  digest: string;
  bytes: Buffer;
  manifest: ReadManifest;
  blobs: readonly ImageBlob[];
}>;

async function keepManifest(
  { name, request, mustStill }: ContainerRequest,
  { target, digest, bytes, manifest, blobs }: StoredManifest,
  deps: Deps,
): Promise<void> {
  const { mediaType, artifactType, subject, annotations } = manifest;
  const about = { mediaType, artifactType, subject, annotations };
  const metadata: ManifestMetadata = { ...about, blobs: [...blobs] };
  const inspected = {
    packageName: imagePackageName(name.image),
    version: { version: digest, key: digest },
    fileName,
    languageVersion: null,
    metadata,
  };
  const inspect = async () => inspected;
  const received = await receive(Readable.from([bytes]), { target, inspect }, request, deps);
  // Its digest names it: other content can never take its place, and a deleted one may come again.
  const recording = { target, type: "container", existing: "replace", mustStill } as const;
  await record(received, recording, request, deps);
}

const remove: ContainerCall = {
  method: "DELETE",
  path,
  right: "write",
  operationId: "delete-container-manifest",
  async handle(request, deps) {
    const reference = request.params["reference"] ?? "";
    const { target, packageId } = await targetOf(request, deps);
    mustAllowRemoval(target.settings);
    await request.mustStill();
    if (readDigest(reference) === undefined) {
      const there = await digestOfTag(deps.db, packageId, reference);
      if (there === undefined) throw manifestUnknown();
      await removeTag(request, { packageId, tag: reference }, deps);
    } else {
      const [row] = await manifestsOf([packageId], [reference], deps);
      if (row === undefined) throw manifestUnknown();
      const id = manifestIdOf(packageId, reference);
      const command = { type: "DeletePackageVersion", packageId } as const;
      await change({ id, command }, request.request, deps);
    }
    return emptyAnswer(202);
  },
};

export const manifestCalls: readonly ContainerCall[] = [read, store, remove];
