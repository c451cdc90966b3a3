import { z } from "zod";
import { outsideList } from "../outside-list.ts";
import { Refusal } from "../refusal.ts";
import { isStorableValue } from "../storable-text.ts";
import { readDigest } from "./digest.ts";

/** OCI distribution-spec, "Pushing Manifests": registries should take at least 4 MiB. */
export const manifestBytesMax = 4 * 1024 ** 2;
/** Every named blob is a row; images have some dozens. */
const namedMax = 1_000;

const typeLengthMax = 255;
const MediaType = z
  .string()
  .max(typeLengthMax)
  .regex(/^[A-Za-z0-9][A-Za-z0-9!#$&^_.+-]*\/[A-Za-z0-9][A-Za-z0-9!#$&^_.+-]*$/);

const Descriptor = z.object({
  mediaType: MediaType.optional(),
  digest: z.string().refine((text) => readDigest(text) !== undefined, "It is no digest."),
  size: z.int().nonnegative(),
  urls: outsideList(z.string()).optional(),
});
type Descriptor = z.output<typeof Descriptor>;

const Annotations = z
  .record(z.string(), z.string())
  .refine(isStorableValue, "They have characters that cannot be stored.");

const Manifest = z.object({
  schemaVersion: z.literal(2),
  mediaType: MediaType.optional(),
  artifactType: z.union([MediaType, z.literal("")]).optional(),
  config: Descriptor.optional(),
  layers: outsideList(Descriptor).optional(),
  manifests: outsideList(Descriptor).optional(),
  subject: Descriptor.optional(),
  annotations: Annotations.nullish(),
});
type Manifest = z.output<typeof Manifest>;

export type NamedContent = Readonly<{ digest: string; bytes: number }>;

/** What a registry has to know of a manifest. */
export type ReadManifest = Readonly<{
  mediaType: string;
  /** As the referrers API shows it: of the manifest, else the type of its configuration. */
  artifactType: string | null;
  /** Digest of the manifest that this one is about; it need not exist. */
  subject: string | null;
  annotations: Readonly<Record<string, string>> | null;
  /** Each once; those of foreign layers are left out, which stay where their URLs say. */
  blobs: readonly NamedContent[];
  /** Of an index, each once. */
  manifests: readonly NamedContent[];
}>;

const kinds: ReadonlyMap<string, "image" | "index"> = new Map([
  ["application/vnd.oci.image.manifest.v1+json", "image"],
  ["application/vnd.docker.distribution.manifest.v2+json", "image"],
  ["application/vnd.oci.image.index.v1+json", "index"],
  ["application/vnd.docker.distribution.manifest.list.v2+json", "index"],
]);

const foreignLayer = /(?:\.foreign\.|\.nondistributable\.)/;

/**
 * Reads an image manifest or an index; OCI image-spec, manifest.md and image-index.md, and their forerunners of
 * Docker. Type in header and body have to agree, and a document that is both an image and an index is refused
 * (CVE-2021-41190).
 *
 * @param contentType of the request, empty when it has none
 * @throws Refusal 400 `container.manifest_invalid`
 */
export function readManifest(bytes: Buffer, contentType: string): ReadManifest {
  const manifest = parsed(bytes);
  const headerType = contentType.split(";", 1)[0]?.trim() ?? "";
  const mediaType = headerType === "" ? (manifest.mediaType ?? "") : headerType;
  if (manifest.mediaType !== undefined && manifest.mediaType !== mediaType) {
    throw bad(`The header says ${mediaType}, the manifest ${manifest.mediaType}.`);
  }
  const kind = kinds.get(mediaType);
  if (kind === undefined) throw bad(`Manifests of type "${mediaType}" are not stored.`);
  const { config, layers, manifests, annotations = null } = manifest;
  const isImage = config !== undefined && layers !== undefined && manifests === undefined;
  const isIndex = manifests !== undefined && layers === undefined && config === undefined;
  if (kind === "image" ? !isImage : !isIndex) throw bad(`It has not the fields of an ${kind}.`);
  const stored = (layers ?? []).filter((layer) => !isForeign(layer));
  const subject = manifest.subject?.digest ?? null;
  return {
    mediaType,
    artifactType: manifest.artifactType || config?.mediaType || null,
    subject,
    annotations: subject === null ? null : annotations,
    blobs: each([...(config === undefined ? [] : [config]), ...stored]),
    manifests: each(manifests ?? []),
  };
}

const isForeign = ({ mediaType = "", urls = [] }: Descriptor): boolean =>
  foreignLayer.test(mediaType) || urls.length > 0;

function parsed(bytes: Buffer): Manifest {
  const found = Manifest.safeParse(jsonOf(bytes));
  if (found.success) return found.data;
  const [issue] = found.error.issues;
  throw bad(`${issue?.path.join(".") || "It"}: ${issue?.message ?? "is wrong"}`);
}

function jsonOf(bytes: Buffer): unknown {
  try {
    return JSON.parse(new TextDecoder("utf-8", { fatal: true }).decode(bytes));
  } catch {
    throw bad("It is no JSON.");
  }
}

function each(descriptors: readonly Descriptor[]): readonly NamedContent[] {
  const bytesOf = new Map<string, number>();
  for (const { digest, size } of descriptors) {
    if ((bytesOf.get(digest) ?? size) !== size) throw bad(`${digest} has two sizes.`);
    bytesOf.set(digest, size);
  }
  if (bytesOf.size > namedMax) throw bad(`It names over ${namedMax} contents.`);
  return [...bytesOf].map(([digest, bytes]) => ({ digest, bytes }));
}

function bad(message: string): Refusal {
  return new Refusal("bad_request", "container.manifest_invalid", `The manifest: ${message}`);
}
